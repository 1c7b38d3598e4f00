/**
 * Lets long work yield to the event loop. One caller continues in each iteration of the event loop, however many callers
 * wait.
 */
export class YieldQueue {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when the caller may continue. Callers continue in the order of their calls. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#continueNext);
    });
  }

  readonly #continueNext = () => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#continueNext);
  };
}
