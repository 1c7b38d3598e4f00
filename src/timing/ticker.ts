/** Does something at once, and then again and again while the service runs; never twice at a time. */
export class Ticker {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #onFailure: (error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /**
   * @param everyMs how often, in milliseconds; a tick that comes while work is under way is left out
   * @param work is told by its signal when to stop
   * @param onFailure told why it failed; the next tick tries again. A failure of a stop is none
   */
  constructor(everyMs: number, work: (signal: AbortSignal) => Promise<void>, onFailure: (error: unknown) => void) {
    this.#work = work;
    this.#onFailure = onFailure;
    this.#timer = setInterval(() => this.#tick(), everyMs);
    this.#tick();
  }

  /** Resolves when no work is under way any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new Error("the service is stopping"));
    await this.#running;
  }

  #tick(): void {
    const { signal } = this.#stopping;
    this.#running ??= this.#work(signal)
      .catch((error) => {
        if (!signal.aborted) this.#onFailure(error);
      })
      .finally(() => {
        this.#running = undefined;
      });
  }
}
