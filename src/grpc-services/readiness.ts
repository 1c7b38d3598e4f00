import { StoaError } from "../errors.ts";
import { forEachInBatches } from "../timing/event-loop.ts";
import { Pause } from "../timing/pause.ts";
import { createDeferred, waitFor } from "../timing/wait.ts";

/** The interval of checks while a client watches, in milliseconds. */
const pollMs = 500;
/** The timeout of a check, in milliseconds. A database that does not answer counts as unavailable. */
const timeoutMs = 5_000;

export interface ReadinessLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/**
 * Checks whether the service can serve. Returns a warning for the operator, if there is one. Throws `StoaError`
 * `unavailable` with the reason when the service cannot serve. `signal` aborts when the result is no longer needed.
 */
export type CheckReady = (signal: AbortSignal) => Promise<string | undefined>;

/**
 * Whether the service can serve, for /readyz and for gRPC's health protocol. All callers and watchers share one check at a
 * time. Without callers and watchers, no check runs.
 */
export class Readiness {
  readonly #checkReady: CheckReady;
  readonly #log: ReadinessLog;
  readonly #shutdown: AbortSignal;
  readonly #announced: AbortSignal;
  readonly #waiters = new Set<() => void>();
  #running: Promise<string | undefined> | undefined;
  #watchers = 0;
  #polling = false;
  readonly #pause = new Pause();
  /** The result of the last check; undefined before the first check and while nobody watches. */
  #serving: boolean | undefined;

  /**
   * @param shutdown aborts when the service begins to stop. Every watch then ends
   * @param announced aborts when a stop is announced: from then on the service cannot serve for long, and is not ready
   */
  constructor(checkReady: CheckReady, log: ReadinessLog, shutdown: AbortSignal, announced = shutdown) {
    this.#checkReady = checkReady;
    this.#log = log;
    this.#shutdown = shutdown;
    this.#announced = announced;
    for (const signal of new Set([announced, shutdown])) {
      signal.addEventListener("abort", () => void this.#wake(), { once: true });
    }
  }

  /**
   * Checks whether the service can serve. Concurrent callers share the running check.
   * @returns a warning for the operator, if there is one
   * @throws StoaError `unavailable` with the reason when it cannot
   */
  check(): Promise<string | undefined> {
    if (this.#announced.aborted) return Promise.reject(this.#announced.reason);
    this.#running ??= this.#look().finally(this.#forget);
    return this.#running;
  }

  /** The result of `check` as a boolean. It is false once a stop is announced. */
  async isServing(): Promise<boolean> {
    return !this.#announced.aborted && (await this.#found()) && !this.#announced.aborted;
  }

  /**
   * Yields whether the service can serve: now, and after each change.
   * @throws the signal's reason; StoaError `unavailable` after a last `false` when the service stops
   */
  async *watch(signal: AbortSignal): AsyncGenerator<boolean, never> {
    this.#watchers += 1;
    try {
      if (!this.#polling) void this.#poll();
      let latest: boolean | undefined;
      while (true) {
        const serving = this.#announced.aborted ? false : this.#serving;
        if (serving !== undefined && serving !== latest) {
          latest = serving;
          yield serving;
          continue;
        }
        this.#shutdown.throwIfAborted();
        await this.#change(signal);
      }
    } finally {
      this.#watchers -= 1;
      if (this.#watchers === 0) {
        this.#serving = undefined;
        this.#pause.end();
      }
    }
  }

  /** Aborts a check that takes too long. The checks before it have ended. */
  #checking = new AbortController();

  readonly #forget = () => {
    this.#running = undefined;
  };

  #look(): Promise<string | undefined> {
    const checking = this.#checking;
    return waitFor(this.#checkReady(checking.signal), {
      ms: timeoutMs,
      onTimeout: ({ reject }) => {
        const late = new StoaError("unavailable", "The database does not answer.", { retryAfterSeconds: 1 });
        reject(late);
        this.#checking = new AbortController();
        checking.abort(late);
      },
    });
  }

  async #found(): Promise<boolean> {
    try {
      await this.check();
      if (this.#serving === false) this.#log.info({}, "ready again");
      return true;
    } catch (error) {
      if (this.#serving === true) this.#log.warn({ err: error }, "not ready");
      return false;
    }
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    while (this.#watchers > 0 && !this.#announced.aborted) {
      const serving = await this.#found();
      const changed = serving !== this.#serving;
      this.#serving = serving;
      if (changed) await this.#wake();
      if (this.#watchers > 0) await this.#pause.wait(pollMs);
    }
    this.#serving = undefined;
    this.#polling = false;
  }

  #change(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const change = createDeferred<void>({ signal, onSettled: () => this.#waiters.delete(change.resolve) });
    this.#waiters.add(change.resolve);
    return change.promise;
  }

  async #wake(): Promise<void> {
    if (this.#announced.aborted) this.#pause.end();
    await forEachInBatches([...this.#waiters], (resolve) => resolve());
  }
}
