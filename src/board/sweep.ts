import type { Board } from "./board.ts";

/**
 * How often sweeps run, in milliseconds. Top feeds of a window step over the posts that left it since the last one, so
 * this is short; a sweep that finds nothing costs a few short reads of indexes.
 */
const tickMs = 5_000;

/** Brings up to date what only time changes, in short transactions; any number of replicas may do so at once. */
export type SweepTask = (board: Board, signal: AbortSignal) => Promise<unknown>;

/** Sweeps at once, and then again and again while the service runs. */
export class Sweep {
  readonly #board: Board;
  readonly #tasks: readonly SweepTask[];
  readonly #log: { warn(fields: object, message: string): void };
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  constructor(board: Board, tasks: readonly SweepTask[], log: { warn(fields: object, message: string): void }) {
    this.#board = board;
    this.#tasks = tasks;
    this.#log = log;
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#tick();
  }

  /** Resolves when no sweep is under way any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new Error("the service is stopping"));
    await this.#running;
  }

  #tick(): void {
    this.#running ??= this.#sweep()
      .catch((err) => {
        // The next tick tries again.
        if (!this.#stopping.signal.aborted) this.#log.warn({ err }, "a sweep failed");
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async #sweep(): Promise<void> {
    for (const task of this.#tasks) await task(this.#board, this.#stopping.signal);
  }
}
