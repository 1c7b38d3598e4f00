import type { Board } from "../board/board.ts";
import { deleteDueReplies, eraseDueReplies } from "../store/tables/idempotency-replies.ts";
import { keyLifetimeMs } from "../store/tables/reply-check.ts";

/** How many rows one transaction sweeps. It is short, so that no write waits for a sweep. */
const batch = 200;

/**
 * Erases encrypted responses after an hour, and deletes rows after a day. Any number of replicas may sweep at once, because
 * each finds only what the others have not swept.
 */
export async function sweepResponses(board: Board, signal: AbortSignal): Promise<void> {
  const now = board.expiryNow();
  const due = { now, aliveSince: now - keyLifetimeMs, lifetimeMs: keyLifetimeMs, limit: batch };
  while ((await board.write(signal, ({ tx }) => eraseDueReplies(tx, due))) === batch);
  while ((await board.write(signal, ({ tx }) => deleteDueReplies(tx, due))) === batch);
}
