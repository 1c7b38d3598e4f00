/**
 * How much of bodies in chunks is parsed at a time, in bytes. Each chunk costs some calls whatever its size, and one read
 * of a socket may bring ten thousand of a byte.
 */
export const SLICE_BYTES = 4 * 1024;
/** How many such slices are parsed in one turn of the event loop, from all connections. */
const MAX_SLICES_A_TURN = 8;

/** Lets the connections whose bodies come in chunks take turns, a slice each, for a bounded part of the event loop's time. */
export class ChunkTurns {
  #taken = 0;
  #isScheduled = false;
  readonly #waiting: (() => void)[] = [];

  /** @returns whether a slice may be parsed at once, which is then counted; if not, `wait` must follow */
  take(): boolean {
    if (this.#waiting.length > 0 || this.#taken >= MAX_SLICES_A_TURN) return false;
    this.#count();
    return true;
  }

  /** Calls `parseSlice` when it is its turn. */
  wait(parseSlice: () => void): void {
    this.#waiting.push(parseSlice);
    this.#schedule();
  }

  #count(): void {
    this.#taken += 1;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#taken = 0;
      while (this.#waiting.length > 0 && this.#taken < MAX_SLICES_A_TURN) {
        this.#count();
        this.#waiting.shift()?.();
      }
    });
  }
}
