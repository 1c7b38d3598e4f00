import type { Board } from "../board/board.ts";
import { sweepDue, sweptAtOnce } from "../store/tables/idempotency-replies.ts";
import { keyLifetimeMs } from "../store/tables/reply-check.ts";

/**
 * Erases encrypted responses after an hour, and deletes rows after a day, in short transactions, so that no write waits for a
 * sweep. Any number of replicas may sweep at once.
 */
export async function sweepResponses(board: Board, signal: AbortSignal): Promise<void> {
  const now = board.expiryNow();
  const times = { now, aliveSince: now - keyLifetimeMs, lifetimeMs: keyLifetimeMs };
  while ((await board.write(signal, ({ tx }) => sweepDue(tx, times))) === sweptAtOnce);
}
