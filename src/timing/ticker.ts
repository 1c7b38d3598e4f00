/** How often a failure that lasts is told, in milliseconds: some work is tried several times a second. */
const retellMs = 60_000;

/** Runs work at once and then at each interval. Runs never overlap. */
export class Ticker {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #onFailure: (error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #told = { text: "", at: 0 };

  /**
   * @param everyMs the interval in milliseconds. A tick is skipped if the work of an earlier one is still running
   * @param work must end soon after its signal aborts
   * @param onFailure gets the error of failed work, for the operator; the next tick tries again. It gets the same error once a
   * minute. Errors after `stop` are ignored
   */
  constructor(everyMs: number, work: (signal: AbortSignal) => Promise<void>, onFailure: (error: unknown) => void) {
    this.#work = work;
    this.#onFailure = onFailure;
    this.#timer = setInterval(() => this.#tick(), everyMs);
    this.#tick();
  }

  /** Aborts the running work, and resolves when it has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new Error("the service is stopping"));
    await this.#running;
  }

  #tick(): void {
    const { signal } = this.#stopping;
    this.#running ??= this.#work(signal)
      .catch((error) => {
        if (!signal.aborted) this.#tell(error);
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  #tell(error: unknown): void {
    // What follows differs each time if it is the name of a new file.
    const [text = ""] = String(error).split(",");
    const now = performance.now();
    if (text === this.#told.text && now - this.#told.at < retellMs) return;
    this.#told = { text, at: now };
    this.#onFailure(error);
  }
}
