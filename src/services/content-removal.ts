import type { Board, Unit } from "../board/board.ts";
import { eraseKeptTexts, listContent } from "../board/moderation/agents.ts";
import type { RemovalRequest } from "../board/moderation/roles.ts";
import type { Removals } from "./removals.ts";

/** The share of a call's time in which posts and comments are removed. The rest is for the reply. */
const usedShare = 0.6;
/** How many ids are read at once. */
const portion = 100;

/**
 * Removes the posts and comments of an agent, erased or not, by the operator. Each is removed in a transaction of its own,
 * so that nobody waits for all of them.
 * @returns how many were removed, and whether nothing of the agent stands any more
 * @throws StoaError `not_found`
 */
export async function removeContent(
  board: Board,
  removals: Removals,
  signal: AbortSignal,
  name: string,
  request: RemovalRequest,
): Promise<{ posts: bigint; comments: bigint; complete: boolean }> {
  const endsAt = performance.now() + usedShare * board.beginCall(signal);
  // Another call may have removed it meanwhile. Then this one does not count it.
  const remove = (work: (unit: Unit) => Promise<unknown>): Promise<boolean> =>
    board.write(signal, async (unit) => {
      await work(unit);
      return unit.unchanged !== true;
    });
  let posts = 0n;
  let comments = 0n;
  for (;;) {
    const { agentId, postIds, commentIds } = await listContent(board.read(signal), name, portion);
    if (postIds.length + commentIds.length === 0) {
      if (request.keepForDays === 0) await board.write(signal, (unit) => eraseKeptTexts(unit, agentId));
      return { posts, comments, complete: true };
    }
    for (const id of postIds) {
      if (performance.now() >= endsAt) return { posts, comments, complete: false };
      if (await remove((unit) => removals.removePost(unit, "operator", id, request))) posts++;
    }
    for (const id of commentIds) {
      if (performance.now() >= endsAt) return { posts, comments, complete: false };
      if (await remove((unit) => removals.removeComment(unit, "operator", id, request))) comments++;
    }
  }
}
