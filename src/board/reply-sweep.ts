import { deleteDueReplies, eraseDueReplies } from "../store/idempotency-replies.ts";
import type { Board } from "./board.ts";
import { keptMs } from "./idempotency.ts";

/** How often the table is looked at, in milliseconds. */
const tickMs = 5_000;
/** Rows a transaction: short ones, so that no write waits for a sweep. */
const batch = 200;

/**
 * Erases the replies whose hour is over, and deletes the rows whose day is. Any number of replicas may do so at once: what
 * one has swept another does not find.
 */
export async function sweepReplies(board: Board, signal: AbortSignal): Promise<void> {
  const now = board.now();
  const due = { now, aliveSince: now - keptMs, keptMs, limit: batch };
  while ((await board.write(signal, ({ tx }) => eraseDueReplies(tx, due))) === batch);
  while ((await board.write(signal, ({ tx }) => deleteDueReplies(tx, due))) === batch);
}

/** Sweeps again and again while the service runs. */
export class ReplySweep {
  readonly #board: Board;
  readonly #log: { warn(fields: object, message: string): void };
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  constructor(board: Board, log: { warn(fields: object, message: string): void }) {
    this.#board = board;
    this.#log = log;
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Resolves when no sweep is under way any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new Error("the service is stopping"));
    await this.#running;
  }

  #tick(): void {
    this.#running ??= sweepReplies(this.#board, this.#stopping.signal)
      .catch((err) => {
        // The next tick tries again.
        if (!this.#stopping.signal.aborted) this.#log.warn({ err }, "kept replies could not be swept");
      })
      .finally(() => {
        this.#running = undefined;
      });
  }
}
