import { StoaError } from "../errors.ts";
import { sleep, withTimeout } from "../timing/wait.ts";

/** How long a stop may take after the drain, the time for running calls to finish; in milliseconds. */
const stopTimeoutMs = 8_500;
/** The part of it for all steps but the last, in milliseconds. The private server needs the rest to end cleanly. */
const stepsTimeoutMs = 4_000;
/** How long each step may take even if that time is over, in milliseconds. */
const minStepMs = 100;

/**
 * One step of a stop.
 * @param endsAt when the whole stop must be over, by `performance.now()`
 */
export type Step = (endsAt: number) => Promise<unknown>;

interface NamedStep {
  name: string;
  step: Step;
  isLast: boolean;
}

/**
 * The stop of the service: it is announced, then `signal` aborts, then steps end what was started, the newest first. If
 * a step fails or exceeds its time, the next one runs all the same.
 */
export class Shutdown {
  readonly #announcing = new AbortController();
  readonly #stopping = new AbortController();
  readonly #warn: (message: string) => void;
  readonly #steps: NamedStep[] = [];
  #stopped: Promise<void> | undefined;
  #endsAt = 0;

  /**
   * @param warn called for each step that exceeds its time
   * @param request when it aborts, `signal` aborts too; the steps wait for `run`
   */
  constructor(warn: (message: string) => void, request?: AbortSignal) {
    this.#warn = warn;
    if (request?.aborted) this.#abort();
    request?.addEventListener("abort", () => this.#abort(), { once: true });
  }

  /** Aborts at the beginning of the stop, with a StoaError `unavailable`. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Aborts when a stop is announced. Until `signal` aborts, everything is still served. */
  get announced(): AbortSignal {
    return this.#announcing.signal;
  }

  /** Announces a stop: nobody should send new work from now on. */
  announce(): void {
    this.#announcing.abort(new StoaError("unavailable", "The service is stopping.", { retryAfterSeconds: 1 }));
  }

  /**
   * Adds a step. If the stop has begun, the step runs at once: an aborted start may still get here.
   * @param name what the step ends, for the log
   * @param isLast whether the step may take all the remaining time
   */
  push(step: Step, name: string, isLast = false): void {
    if (this.#stopped === undefined) this.#steps.push({ name, step, isLast });
    else void step(this.#endsAt).catch(() => {});
  }

  /**
   * Announces the stop, and runs it after a delay, or earlier if `run` is called.
   * @throws the first failure of a step
   */
  async runAfter(delayMs: number, drainMs: number): Promise<void> {
    this.announce();
    // If the stop begins meanwhile, `signal` ends the delay.
    if (delayMs > 0) await sleep(delayMs, this.signal).catch(() => {});
    await this.run(drainMs);
  }

  /**
   * Aborts the signal and runs every step, once. Resolves within `drainMs` and 9 s.
   * @param drainMs how long running calls may take to finish, in milliseconds; negative if the stop has less time
   * @throws the first failure of a step
   */
  run(drainMs: number): Promise<void> {
    this.#stopped ??= this.#run(performance.now() + drainMs);
    return this.#stopped;
  }

  async #run(drainedAt: number): Promise<void> {
    this.#abort();
    const failures: unknown[] = [];
    this.#endsAt = drainedAt + stopTimeoutMs;
    for (const { name, step, isLast } of this.#steps.splice(0).reverse()) {
      const endsAt = isLast ? this.#endsAt : drainedAt + stepsTimeoutMs;
      const ms = Math.max(endsAt - performance.now(), minStepMs);
      const done = step(this.#endsAt)
        .catch((error) => failures.push(error))
        .then(() => true);
      if (!(await withTimeout(done, ms))) this.#warn(`the stop continues without waiting any longer for: ${name}`);
    }
    if (failures.length > 0) throw failures[0];
  }

  #abort(): void {
    this.announce();
    this.#stopping.abort(new StoaError("unavailable", "The service is stopping.", { retryAfterSeconds: 1 }));
  }
}
