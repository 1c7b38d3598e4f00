/** How often the outbox is read from its beginning, in milliseconds. No transaction that adds entries takes as long. */
const intervalMs = 60_000;

/**
 * Where a look at the outbox begins. While a backup holds a snapshot, the server keeps deleted rows and passes over them at
 * each look. So most looks begin after ids that were sequenced over a minute ago, and one each minute at the beginning: it
 * finds a row with a lower id that was committed after that.
 */
export class OutboxFloor {
  #floor = 0;
  /** The highest id that was sequenced by the last look from the beginning. */
  #next = 0;
  #highest = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @param now by `performance.now()`. @returns the id after which this look begins */
  begin(now: number): number {
    if (now - this.#lookedAt < intervalMs) return this.#floor;
    this.#lookedAt = now;
    this.#floor = this.#next;
    this.#next = this.#highest;
    return 0;
  }

  /** Says that rows with these ids have been sequenced. */
  passed(ids: readonly number[]): void {
    this.#highest = Math.max(this.#highest, ...ids);
  }
}
