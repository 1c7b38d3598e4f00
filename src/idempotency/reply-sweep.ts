import type { Board } from "../board/board.ts";
import { deleteDueReplies, eraseDueReplies } from "../store/tables/idempotency-replies.ts";
import { keptMs } from "./claims.ts";

/** Rows a transaction: short ones, so that no write waits for a sweep. */
const batch = 200;

/**
 * Erases the replies whose hour is over, and deletes the rows whose day is. Any number of replicas may do so at once: what
 * one has swept another does not find.
 */
export async function sweepReplies(board: Board, signal: AbortSignal): Promise<void> {
  const now = board.expiryNow();
  const due = { now, aliveSince: now - keptMs, keptMs, limit: batch };
  while ((await board.write(signal, ({ tx }) => eraseDueReplies(tx, due))) === batch);
  while ((await board.write(signal, ({ tx }) => deleteDueReplies(tx, due))) === batch);
}
