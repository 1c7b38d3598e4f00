import { bandBatch, moveToBands, oldestBand } from "../store/age-bands.ts";
import type { Database } from "../store/database.ts";

/**
 * How often posts that grew older are looked for, in milliseconds. Top feeds of a window step over those that left it
 * since, so this is short; looking costs five short reads of an index.
 */
const tickMs = 10_000;

export interface AgingLog {
  warn(fields: object, message: string): void;
}

/** Moves posts on to the band of their age while the service runs. Any number of replicas may do so at once. */
export class Aging {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #log: AgingLog;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /** `now` gives the time in milliseconds since 1970 (UTC). */
  constructor(db: Database, now: () => number, log: AgingLog) {
    this.#db = db;
    this.#now = now;
    this.#log = log;
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#tick();
  }

  /** Resolves when nothing is being moved any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new Error("the service is stopping"));
    await this.#running;
  }

  #tick(): void {
    this.#running ??= moveAgedPosts(this.#db, this.#now, this.#stopping.signal)
      .then(() => {})
      .catch((err) => {
        // Feeds are right without, only slower; the next tick tries again.
        if (!this.#stopping.signal.aborted)
          this.#log.warn({ err }, "posts could not be moved to the band of their age");
      })
      .finally(() => {
        this.#running = undefined;
      });
  }
}

/**
 * Moves every post to the band of its age, in small transactions of their own, so that votes hardly wait; posts that
 * are locked just then stay for the next time.
 * @returns how many were moved
 * @throws StoaError `unavailable`; the reason of `signal`, before the next statement. What was moved stays moved.
 */
export async function moveAgedPosts(db: Database, now: () => number, signal: AbortSignal): Promise<number> {
  let moved = 0;
  for (let band = 0; band <= oldestBand; band++) {
    for (let batch = bandBatch; batch === bandBatch; moved += batch) {
      batch = await db.transaction(signal, (tx) => moveToBands(tx, band, now()));
    }
  }
  return moved;
}
