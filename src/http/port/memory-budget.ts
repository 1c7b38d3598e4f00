/** A connection, as a holder of memory. */
export interface Holder {
  /** What it makes the service hold, in bytes. Only the budget changes it. */
  held: number;
  /** Since when it has held anything, by `performance.now()`. */
  heldSince: number;
  /** Ends the connection at once. It then holds nothing. */
  cut(): void;
}

/** When all hold too much, connections are cut until the others hold at most this fraction of the budget. */
const RELIEVED = 7 / 8;
/** Added to the time that each has held memory, in milliseconds. So size decides between those that have just begun. */
const GRACE_MS = 1000;

/**
 * Bounds what clients make the service hold: requests, bodies that arrive, and replies that are not read. If all hold too
 * much, the connections that have held the most for the longest are cut. A client that sends and reads holds little for a
 * short time.
 */
export class MemoryBudget {
  readonly #maxBytes: number;
  readonly #holders = new Set<Holder>();
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds to what a connection holds, or takes away. May cut this connection or others. */
  add(holder: Holder, bytes: number): void {
    if (holder.held === 0 && bytes > 0) {
      holder.heldSince = performance.now();
      this.#holders.add(holder);
    }
    holder.held += bytes;
    this.#total += bytes;
    if (holder.held === 0) this.#holders.delete(holder);
    if (this.#total > this.#maxBytes) this.#relieve();
  }

  /** Takes away all that a connection holds. */
  remove(holder: Holder): void {
    this.add(holder, -holder.held);
  }

  #relieve(): void {
    const now = performance.now();
    const weight = ({ held, heldSince }: Holder) => held * (now - heldSince + GRACE_MS);
    const heaviest = [...this.#holders].sort((one, other) => weight(other) - weight(one));
    for (const holder of heaviest) {
      if (this.#total <= this.#maxBytes * RELIEVED) break;
      holder.cut();
    }
  }
}
