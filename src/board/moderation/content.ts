import { listCommentIdsByAuthor } from "../../store/tables/comments.ts";
import { listPostIdsByAuthor } from "../../store/tables/posts.ts";
import { eraseTextsOfAuthor } from "../../store/tables/removed-posts.ts";
import type { Board, Unit } from "../board.ts";
import { removeComment } from "./comments.ts";
import { removePost } from "./posts.ts";
import { eraseReportedOf } from "./reported.ts";
import type { Moderator, RemovalRequest } from "./roles.ts";

/** How many ids are read at once. */
const portion = 100;
/** How many kept texts one transaction looks at. */
const batch = 100;

/** What was removed, and whether nothing of the agent stands any more. */
export interface RemovedContent {
  posts: bigint;
  comments: bigint;
  complete: boolean;
}

/**
 * Removes the posts and comments of an agent, erased or not, by the operator or by the agent itself. Each is removed in a
 * transaction of its own, so that nobody waits for all of them.
 * @param endsAt when it stops at the latest, by `performance.now()`
 */
export async function removeContent(
  board: Board,
  signal: AbortSignal,
  { agentId, by }: { agentId: number; by: Moderator },
  request: RemovalRequest,
  endsAt: number,
): Promise<RemovedContent> {
  // Another call may have removed it meanwhile. Then this one does not count it.
  const remove = (work: (unit: Unit) => Promise<unknown>): Promise<boolean> =>
    board.write(signal, async (unit) => {
      await work(unit);
      return unit.unchanged !== true;
    });
  let posts = 0n;
  let comments = 0n;
  let mayBeKept = request.keepForDays === 0;
  for (;;) {
    const postIds = await listPostIdsByAuthor(board.read(signal), agentId, portion);
    const commentIds = await listCommentIdsByAuthor(board.read(signal), agentId, portion);
    if (postIds.length + commentIds.length === 0) {
      if (!mayBeKept) return { posts, comments, complete: true };
      if (!(await eraseKeptTexts(board, signal, { agentId, by }, endsAt))) return { posts, comments, complete: false };
      // What moderators have restored until now is removed as well.
      mayBeKept = false;
    }
    for (const id of postIds) {
      if (performance.now() >= endsAt) return { posts, comments, complete: false };
      if (await remove((unit) => removePost(unit, by, id, request))) posts++;
    }
    for (const id of commentIds) {
      if (performance.now() >= endsAt) return { posts, comments, complete: false };
      if (await remove((unit) => removeComment(unit, by, id, request))) comments++;
    }
  }
}

/**
 * Erases the texts of an agent that are kept after their removal. Texts that are kept because they were reported are erased
 * only for the operator.
 * @returns whether all are erased
 */
async function eraseKeptTexts(
  board: Board,
  signal: AbortSignal,
  { agentId, by }: { agentId: number; by: Moderator },
  endsAt: number,
): Promise<boolean> {
  for (const table of ["removed_posts", "removed_comments"] as const) {
    const erase = ({ tx }: Unit, after: number) => eraseTextsOfAuthor(tx, table, agentId, after, batch);
    if (!(await changeInSteps(board, signal, endsAt, erase))) return false;
  }
  return by !== "operator" || changeInSteps(board, signal, endsAt, (unit) => eraseReportedOf(unit, agentId));
}

/**
 * Changes rows in steps, each in a transaction of its own.
 * @param step changes some rows after the id `after`. It returns where the next step begins, undefined at the end
 * @returns whether it came to the end before `endsAt`
 */
export async function changeInSteps(
  board: Board,
  signal: AbortSignal,
  endsAt: number,
  step: (unit: Unit, after: number) => Promise<number | undefined>,
): Promise<boolean> {
  for (let next: number | undefined = 0; next !== undefined; ) {
    if (performance.now() >= endsAt) return false;
    // A transaction may run again, and then begins where it began before.
    const after: number = next;
    next = await board.write(signal, (unit) => step(unit, after));
  }
  return true;
}
