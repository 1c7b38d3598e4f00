import { sleep } from "../../timing/wait.ts";
import { CommitInDoubt, isLost, isMisplaced, isRetryable, RowMoved } from "./database-errors.ts";

/** Between two attempts there is a random wait, in milliseconds. Its maximum doubles from `firstWaitMs` to `maxWaitMs`. */
const maxWaitMs = 200;
const firstWaitMs = 10;
/** How often a call is tried at most, not counting attempts without a wait before them. All the waits take some 6 s. */
const maxAttempts = 60;
/** The share of a call's time in which it may look for another server. */
const searchShare = 0.6;
/** How many calls may wait at a time for another server. More fail at once, so that an outage does not fill the memory. */
const maxSearching = 1_000;

type Cause = "conflict" | "commit" | "server";

/** Counts the repeated attempts of all calls of a database. A conflict is an error that `isRetryable`. */
export class RetryCounts {
  /** How many calls wait for another server. */
  searching = 0;
  /** How often attempts were repeated, for the metrics. */
  readonly byCause = new Map<Cause, number>([
    ["conflict", 0],
    ["commit", 0],
    ["server", 0],
  ]);

  add(error: unknown): void {
    const cause = isRetryable(error) ? "conflict" : error instanceof CommitInDoubt ? "commit" : "server";
    this.byCause.set(cause, (this.byCause.get(cause) ?? 0) + 1);
  }
}

/** Decides whether a call that failed in the database may be tried again, and waits before it is. One object serves one call. */
export class Retries {
  readonly #signal: AbortSignal;
  readonly #endsAt: number;
  readonly #searchEndsAt: number;
  readonly #counts: RetryCounts;
  #attempts = 1;
  #hasMoved = false;

  /** @param endsAt when the time of the call is over, by `performance.now()` */
  constructor(signal: AbortSignal, endsAt: number, counts: RetryCounts) {
    this.#counts = counts;
    this.#signal = signal;
    this.#endsAt = endsAt;
    const now = performance.now();
    this.#searchEndsAt = now + (endsAt - now) * searchShare;
  }

  /**
   * @param isCluster whether another server may answer instead
   * @param isClaimed see `TransactionOptions`
   * @returns whether to try again; if so, after the wait
   * @throws the signal's reason, when it aborts during the wait
   */
  async mayRepeat(error: unknown, options: { isCluster: boolean; isClaimed: boolean }): Promise<boolean> {
    const mayRepeat = await this.#mayRepeat(error, options);
    if (mayRepeat) this.#counts.add(error);
    return mayRepeat;
  }

  async #mayRepeat(
    error: unknown,
    { isCluster, isClaimed }: { isCluster: boolean; isClaimed: boolean },
  ): Promise<boolean> {
    const now = performance.now();
    if (now >= this.#endsAt || this.#attempts >= maxAttempts) return false;
    // This needs no wait: whoever moved the row has committed, so somebody makes progress, unlike after deadlocks.
    if (error instanceof RowMoved) return true;
    if (isRetryable(error)) {
      await this.#wait();
      return true;
    }
    const inDoubt = error instanceof CommitInDoubt;
    if (inDoubt && !isClaimed) return false;
    if (!inDoubt && !isMisplaced(error) && !(isCluster && isLost(error))) return false;
    if (!isCluster) {
      // A new connection may reach another server, or the same one after a restart.
      if (this.#hasMoved) return false;
      this.#hasMoved = true;
      return true;
    }
    if (now >= this.#searchEndsAt || this.#counts.searching >= maxSearching) return false;
    this.#counts.searching += 1;
    try {
      await this.#wait();
    } finally {
      this.#counts.searching -= 1;
    }
    return true;
  }

  async #wait(): Promise<void> {
    const longest = Math.min(maxWaitMs, firstWaitMs * 2 ** (this.#attempts - 1));
    this.#attempts += 1;
    await sleep(Math.random() * longest, this.#signal);
  }
}
