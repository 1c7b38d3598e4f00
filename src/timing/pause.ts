import { createDeferred } from "./wait.ts";

/** The pause of a loop, which something that happens meanwhile may end early. */
export class Pause {
  #end: (() => void) | undefined;

  /** Resolves after `ms` milliseconds, or when `end` is called. One caller waits at a time. */
  async wait(ms: number): Promise<void> {
    const pause = createDeferred<void>({ ms, onTimeout: ({ resolve }) => resolve() });
    this.#end = pause.resolve;
    await pause.promise;
    this.#end = undefined;
  }

  /** Ends the pause that is under way; does nothing without one. */
  end(): void {
    this.#end?.();
  }
}
