import { StoaError } from "../errors.ts";
import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { sleep, untilAborted, waitFor } from "../timing/wait.ts";

/** The interval of checks while a client watches, in milliseconds. */
const pollMs = 500;
/** The timeout of a check, in milliseconds. A database that does not answer counts as unavailable. */
const timeoutMs = 5_000;

interface ReadinessLog {
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
  #running: Promise<string | undefined> | undefined;
  #watchers = 0;
  /** What the last look for watchers has found; undefined before the first and while nobody watches. */
  #latest: boolean | undefined;
  /** The next look for watchers, while one is due. */
  #next: Promise<boolean> | undefined;
  /** Watchers are told of a change one by one: thousands may watch. */
  readonly #turns = new TurnScheduler(1);
  /** Aborts the first check that takes too long; those before it have ended. Then a new one takes its place. */
  #checking = new AbortController();

  /**
   * @param shutdown aborts when the service begins to stop. Every watch then ends
   * @param announced aborts when a stop is announced: from then on the service cannot serve for long, and is not ready
   */
  constructor(checkReady: CheckReady, log: ReadinessLog, shutdown: AbortSignal, announced = shutdown) {
    this.#checkReady = checkReady;
    this.#log = log;
    this.#shutdown = shutdown;
    this.#announced = announced;
  }

  /**
   * Checks whether the service can serve. Concurrent callers share the running check.
   * @returns a warning for the operator, if there is one
   * @throws StoaError `unavailable` with the reason when it cannot
   */
  check(): Promise<string | undefined> {
    if (this.#announced.aborted) return Promise.reject(this.#announced.reason);
    this.#running ??= this.#checkInTime().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** The result of `check` as a boolean. It is false as soon as a stop is announced. */
  isServing(): Promise<boolean> {
    return untilAborted(this.check(), this.#announced).then(
      () => true,
      () => false,
    );
  }

  /**
   * Yields whether the service can serve: now, and after each change.
   * @throws the signal's reason; StoaError `unavailable` after a last `false` when the service stops
   */
  async *watch(signal: AbortSignal): AsyncGenerator<boolean, never> {
    this.#watchers += 1;
    try {
      let isServing = this.#announced.aborted ? false : (this.#latest ?? (await untilAborted(this.#look(), signal)));
      for (;;) {
        const told = isServing;
        yield told;
        while (isServing === told) {
          this.#shutdown.throwIfAborted();
          isServing = await untilAborted(this.#nextLook(), signal);
        }
        await this.#turns.next();
      }
    } finally {
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#latest = undefined;
    }
  }

  /** The next look, which all watchers share. Once a stop is announced, nothing changes before the stop itself. */
  #nextLook(): Promise<boolean> {
    if (this.#announced.aborted) return untilAborted(new Promise(() => {}), this.#shutdown);
    this.#next ??= sleep(pollMs, this.#announced)
      .catch(() => {})
      .then(() => this.#watchers > 0 && this.#look())
      .finally(() => {
        this.#next = undefined;
      });
    return this.#next;
  }

  async #look(): Promise<boolean> {
    try {
      await untilAborted(this.check(), this.#announced);
      if (this.#latest === false) this.#log.info({}, "ready again");
      this.#latest = true;
    } catch (err) {
      if (this.#latest === true && !this.#announced.aborted) this.#log.warn({ err }, "not ready");
      this.#latest = false;
    }
    return this.#latest;
  }

  #checkInTime(): Promise<string | undefined> {
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
}
