import { FairQueue } from "./fair-queue.ts";

/** Spreads work over turns of the event loop, so that much work of one kind does not hold up everything else. */
export class TurnScheduler {
  readonly #maxPortions: number;
  #taken = 0;
  #isScheduled = false;
  readonly #waiting = new FairQueue<() => void>();

  /**
   * @param maxPortions the most portions of work in one turn. Portions of earlier turns may count as well, but never more than
   * half of this
   */
  constructor(maxPortions: number) {
    this.#maxPortions = maxPortions;
  }

  /** @returns true if the caller may do a portion now; otherwise it must call `wait` */
  take(): boolean {
    if (this.#waiting.size > 0 || this.#taken >= this.#maxPortions) return false;
    this.#count();
    return true;
  }

  /**
   * Does one portion: now where the turn allows it, otherwise in a later turn of the event loop.
   * @param party as for `wait`
   */
  run(work: () => void, party?: unknown): void {
    if (this.take()) work();
    else this.wait(party, work);
  }

  /**
   * Resolves when the caller may do one portion: now where the turn allows it, otherwise in a later turn of the event loop.
   * @param party as for `wait`
   */
  turn(party?: unknown): Promise<void> {
    return new Promise((resolve) => this.run(resolve, party));
  }

  /** Resolves in a later turn of the event loop, when the caller may do one portion; first come, first served. */
  next(): Promise<void> {
    return new Promise((resolve) => this.wait(undefined, resolve));
  }

  /**
   * Calls `work`, which does one portion, in a later turn of the event loop.
   * @param party for whom; parties take turns, and the work of one is first come, first served
   */
  wait(party: unknown, work: () => void): void {
    this.#waiting.add(party, work);
    this.#schedule();
  }

  /** Light work schedules nothing: portions are counted over several turns until there are many. */
  #count(): void {
    this.#taken += 1;
    if (this.#taken * 2 >= this.#maxPortions) this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#taken = 0;
      while (this.#waiting.size > 0 && this.#taken < this.#maxPortions) {
        this.#count();
        this.#waiting.take()?.();
      }
    });
  }
}
