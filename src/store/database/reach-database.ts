import { sleep } from "../../timing/wait.ts";
import { connectFailureOf } from "./connect-failures.ts";
import type { Database } from "./database.ts";

/** The time between two attempts, in milliseconds. */
const pauseMs = 500;

export interface ReachOptions {
  signal: AbortSignal;
  /** What the operator has set, without the password: `STOA_DATABASE_URL names stoa@db:3306/stoa`. */
  subject: string;
  /** How long to retry failures that may pass, in milliseconds; by default not at all. */
  waitMs?: number;
  /** Called with one line when the wait begins, and when its reason changes. */
  onWait?(line: string): void;
}

/**
 * Waits until the database answers a statement.
 * @throws Error with one line for the operator: the setting, what was tried, why it failed, and what to do; the signal's
 * reason
 */
export async function reachDatabase(
  db: Database,
  { signal, subject, waitMs = 0, onWait = () => {} }: ReachOptions,
): Promise<void> {
  const endsAt = performance.now() + waitMs;
  let told = "";
  for (;;) {
    const error = await whyUnreachable(db, signal);
    if (error === undefined) return;
    signal.throwIfAborted();
    const failure = connectFailureOf(error);
    const why = `${subject}: ${failure?.reason ?? (error as Error).message}`;
    const remedy = failure?.remedy === undefined ? "" : ` ${failure.remedy}.`;
    if (failure?.passes !== true) throw new Error(`${why}.${remedy}`, { cause: error });
    if (performance.now() >= endsAt) {
      const waited = waitMs === 0 ? "" : `, also after ${waitMs / 1000} s`;
      throw new Error(`${why}${waited}.${remedy}`, { cause: error });
    }
    if (why !== told) onWait(`${why}. The start waits for it.${remedy}`);
    told = why;
    await sleep(pauseMs, signal);
  }
}

async function whyUnreachable(db: Database, signal: AbortSignal): Promise<unknown> {
  try {
    await db.reader(signal).rows("SELECT 1");
    return undefined;
  } catch (error) {
    return error;
  }
}
