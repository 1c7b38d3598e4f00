import { withTimeout } from "../timing/wait.ts";

/** How long a stop may take besides the time in which running calls may finish, in milliseconds. */
const graceMs = 8_500;
/** The part of it for everything but the private server, in milliseconds: that one needs the rest to end cleanly. */
const stepsMs = 4_000;
/** What each step gets even when that time is over, in milliseconds. */
const leastMs = 100;

/**
 * One step of a stop.
 * @param endsAt when the whole stop has to be over, by `performance.now()`
 */
export type Step = (endsAt: number) => Promise<unknown>;

interface Named {
  name: string;
  step: Step;
  isLast: boolean;
}

/**
 * What has to be ended when the service stops, the newest first. No step can hold up the others: one that does not end in
 * its time is left behind, and one that fails keeps no other from being taken.
 */
export class CleanUp {
  readonly #warn: (message: string) => void;
  readonly #steps: Named[] = [];
  #stopped: Promise<void> | undefined;
  #endsAt = 0;

  /** @param warn told of each step that did not end in its time */
  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /**
   * Adds a step. When the stop is over already, the step is taken at once: a start that was given up may still get there.
   * @param name what the step ends, for the log
   */
  push(step: Step, name: string): void {
    if (this.#stopped === undefined) this.#steps.push({ name, step, isLast: false });
    else void step(this.#endsAt).catch(() => {});
  }

  /** The same for a step that may take all the time that is left. */
  pushLast(step: Step, name: string): void {
    this.push(step, name);
    const added = this.#steps.at(-1);
    if (added?.step === step) added.isLast = true;
  }

  /**
   * Takes every step, once. Resolves within `drainMs` and 9 s.
   * @param drainMs how long running calls may take to finish, in milliseconds; less than 0: so much time has passed already
   * @throws the first failure of a step
   */
  run(drainMs: number): Promise<void> {
    this.#stopped ??= this.#run(performance.now() + drainMs);
    return this.#stopped;
  }

  async #run(drainedAt: number): Promise<void> {
    const failures: unknown[] = [];
    this.#endsAt = drainedAt + graceMs;
    for (const { name, step, isLast } of this.#steps.splice(0).reverse()) {
      const endsAt = isLast ? this.#endsAt : drainedAt + stepsMs;
      const ms = Math.max(endsAt - performance.now(), leastMs);
      const done = step(this.#endsAt)
        .catch((error) => failures.push(error))
        .then(() => true);
      if (!(await withTimeout(done, ms))) this.#warn(`the stop goes on without waiting any longer for: ${name}`);
    }
    if (failures.length > 0) throw failures[0];
  }
}
