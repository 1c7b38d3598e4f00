/**
 * Work in slices: each caller waits for its turn, and there is one turn in each iteration of the event loop, however many
 * callers wait. Between two turns everything else that is due is done.
 */
export class YieldQueue {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's turn. Callers come in the order in which they asked. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#give);
    });
  }

  readonly #give = () => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#give);
  };
}
