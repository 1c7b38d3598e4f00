import type { Board } from "../board/board.ts";

/** The share of a call's time in which posts and comments are removed. The rest is for the reply. */
const usedShare = 0.6;

/** When a call must stop removing what an agent has written, by `performance.now()`. */
export function endOfRemovals(board: Board, signal: AbortSignal): number {
  return performance.now() + usedShare * board.beginCall(signal);
}
