/** Memory of one kind that clients make the service hold: idle connections, request bodies or unsent replies. */
export interface HeldKind {
  /** What it may hold while the other kinds hold little, in bytes. */
  readonly maxBytes: number;
  /** What it holds, in bytes; an upper bound. */
  readonly heldBytes: number;
  /** Makes `heldBytes` exact; only for a kind whose count is too high between two looks at its holders. */
  recount?(): void;
  /** Ends some of those that make it hold the most, until it holds at most this many bytes. */
  shrinkTo(bytes: number): void;
}

/** When all kinds together hold too much, one of them shrinks until they hold at most this fraction. */
const RELIEVED = 7 / 8;

/** Bounds all kinds of held memory together. Different attacks at the same time could fill the budget of each kind. */
export class HeldMemory {
  readonly #maxBytes: number;
  readonly #kinds: HeldKind[] = [];

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(kind: HeldKind): void {
    this.#kinds.push(kind);
  }

  /** To be called when a kind has grown. If all hold too much, the kind that has filled most of its own budget shrinks. */
  check(): void {
    if (this.#heldBytes() <= this.#maxBytes) return;
    for (const kind of this.#kinds) kind.recount?.();
    const held = this.#heldBytes();
    if (held <= this.#maxBytes) return;
    const [fullest] = this.#kinds.toSorted((a, b) => b.heldBytes / b.maxBytes - a.heldBytes / a.maxBytes);
    fullest?.shrinkTo(Math.max(0, fullest.heldBytes - (held - this.#maxBytes * RELIEVED)));
  }

  #heldBytes(): number {
    let held = 0;
    for (const kind of this.#kinds) held += kind.heldBytes;
    return held;
  }
}
