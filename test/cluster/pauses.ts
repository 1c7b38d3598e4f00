/** How long after a fault it may still begin to have an effect, in milliseconds. */
const onsetMs = 2_000;

/** Measures the longest pause between good writes after a fault. */
export class Pauses {
  #markedAt = 0;
  #lastGoodAt = 0;
  #longestMs = 0;
  #isOver = true;
  #leastMs = onsetMs;

  /**
   * A fault begins now.
   * @param leastMs for how long it may begin to have an effect, in milliseconds
   */
  mark(leastMs = onsetMs): void {
    this.#leastMs = leastMs;
    this.#markedAt = Date.now();
    this.#lastGoodAt = this.#markedAt;
    this.#longestMs = 0;
    this.#isOver = false;
  }

  /** A write that began at `begunAt`, in milliseconds since 1970, was acknowledged now. */
  good(begunAt: number): void {
    if (this.#isOver) return;
    const now = Date.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#lastGoodAt);
    this.#lastGoodAt = now;
    this.#isOver = begunAt >= this.#markedAt + this.#leastMs;
  }

  /** When the last good write was acknowledged, in milliseconds since 1970. */
  get lastGoodAt(): number {
    return this.#lastGoodAt;
  }

  /** The longest pause between good writes since the mark so far, in milliseconds. */
  get longestSoFarMs(): number {
    return this.#longestMs;
  }

  /** The longest pause since the mark, in milliseconds; undefined until writes are back. */
  get longestMs(): number | undefined {
    return this.#isOver ? this.#longestMs : undefined;
  }
}
