/**
 * How much of a chunked body is parsed at a time, in bytes. Each chunk costs some calls whatever its size, and one read of
 * a socket may bring ten thousand chunks of one byte.
 */
export const SLICE_BYTES = 4 * 1024;
/** How many slices are parsed in one turn of the event loop, over all connections. */
const MAX_SLICES_A_TURN = 8;

/** Bounds the time that chunked bodies take on the event loop: their connections take turns and parse one slice each. */
export class ChunkScheduler {
  #taken = 0;
  #isScheduled = false;
  readonly #waiting: (() => void)[] = [];

  /** @returns true if the caller may parse a slice now; otherwise it must call `wait` */
  take(): boolean {
    if (this.#waiting.length > 0 || this.#taken >= MAX_SLICES_A_TURN) return false;
    this.#count();
    return true;
  }

  /** Calls `parseSlice` in a later turn of the event loop, first come first served. */
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
