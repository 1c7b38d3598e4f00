import { notFound } from "../../errors.ts";
import { addToAgent } from "../../store/tables/agents.ts";
import { type CommentState, findComment, lockComment } from "../../store/tables/comments.ts";
import {
  findPostOfComment,
  findRemovedComment,
  lockRemovedComment,
  moveCommentBack,
  moveCommentToRemoved,
  putCommentRemoval,
  type RemovedCommentState,
} from "../../store/tables/removed-comments.ts";
import { addToCommentCount } from "../../store/tables/removed-posts.ts";
import type { ReportedVersion } from "../../store/tables/reported-texts.ts";
import type { Queryable, Unit } from "../board.ts";
import type { CommentRow } from "../comments.ts";
import { type NotedAct, noteAct, noteRemoval, noteRestore } from "../inbox/changes.ts";
import { logDeletion, logRestore } from "../logged/entries.ts";
import { unknownComment } from "../missing.ts";
import { removeFromSearch, restoreInSearch } from "../search/index-items.ts";
import { beginCleanUp, endCleanUp } from "./clean-up.ts";
import { changeOfRemoval, lockAnywhere } from "./posts.ts";
import { recordAct } from "./record.ts";
import { endReported, keepDeleted } from "./reported.ts";
import { checkRestorer, decideRemoval, type Moderator, type RemovalRequest } from "./roles.ts";

/** A comment as its row stands, and the post that it is on. */
type LockedComment = { postId: number; communityId: number; isPostRemoved: boolean } & (
  | { standing: CommentState; removed?: undefined }
  | { standing?: undefined; removed: RemovedCommentState }
);

/**
 * Removes a comment, and closes the reports about it. What is said of `removePost` holds here, too.
 * @returns the comment as everybody sees it now
 * @throws StoaError `not_found`, `forbidden`; `bad_input`, field `reason`
 */
export async function removeComment(
  unit: Unit,
  moderator: Moderator,
  id: number,
  request: RemovalRequest,
): Promise<CommentRow> {
  const { tx } = unit;
  const { postId, communityId, isPostRemoved, standing, removed } = await lockWithPost(unit, id);
  const { author_id: authorId } = standing ?? removed;
  const removal = await decideRemoval(unit, moderator, { authorId, communityId }, request);
  const change = removed && changeOfRemoval(removal, removed);
  const words = { postId, commentId: id, authorId };
  const item = { item: "comment", item_id: id } as const;
  const noted: NotedAct = { moderator, act: "remove", reason: removal.reason };
  let isNoted = false;
  if (standing !== undefined) {
    if (removal.by === "author") await keepDeleted(unit, versionOf(id, standing));
    await moveCommentToRemoved(tx, id, removal);
    await removeFromSearch(tx, "comments", id);
    await addToCommentCount(tx, postId, isPostRemoved, -1);
    await addToAgent(tx, authorId, { comments: -1, karma: -standing.score });
    isNoted = await noteRemoval(unit, words, noted);
    if (removal.by === "author") {
      await beginCleanUp(unit, item);
      logDeletion(unit, "comment", { id, at: removal.at }, standing.salt);
    } else {
      await endReported(unit, item);
    }
  } else if (change !== undefined) {
    await putCommentRemoval(tx, id, change);
    isNoted = await noteAct(unit, words, noted);
    if (removed.removed_by === "author") await endReported(unit, item);
  } else {
    unit.unchanged = true;
  }
  if (removal.by !== "author" && !unit.unchanged) {
    const { reason } = removal;
    await recordAct(unit, {
      by: moderator,
      act: "remove",
      item: "comment",
      itemId: id,
      reason,
      note: request.note,
      isNoted,
    });
  }
  return showComment(tx, id);
}

/**
 * Restores a removed comment while its text is kept. Restoring a comment that stands changes nothing.
 * @throws StoaError `not_found`, also for an erased text; `forbidden`
 */
export async function restoreComment(unit: Unit, moderator: Moderator, id: number): Promise<CommentRow> {
  const { tx, now } = unit;
  const { postId, communityId, isPostRemoved, standing, removed } = await lockWithPost(unit, id);
  const { author_id: authorId } = standing ?? removed;
  await checkRestorer(tx, moderator, { authorId, communityId }, removed?.removed_by);
  if (removed === undefined) {
    unit.unchanged = true;
    return showComment(tx, id);
  }
  if (removed.erase_at === null || removed.erase_at <= now) throw notFound("The text of this comment has been erased.");
  await addToCommentCount(tx, postId, isPostRemoved, 1);
  await addToAgent(tx, authorId, { comments: 1, karma: removed.score });
  await moveCommentBack(tx, id);
  await endCleanUp(unit, { item: "comment", item_id: id });
  await restoreInSearch(tx, "comments", id);
  const isNoted = await noteRestore(unit, { postId, commentId: id, authorId }, { moderator, act: "restore" });
  await logRestore(unit, "comment", id);
  await recordAct(unit, { by: moderator, act: "restore", item: "comment", itemId: id, isNoted });
  return showComment(tx, id);
}

/**
 * A comment as everybody sees it, standing or removed. It may be restored between two looks.
 * @throws StoaError `not_found`
 */
export async function showComment(db: Queryable, id: number): Promise<CommentRow> {
  const comment = (await findComment(db, id)) ?? (await findRemovedComment(db, id)) ?? (await findComment(db, id));
  if (comment === undefined) throw unknownComment();
  return comment;
}

/** The text of a comment that is locked. */
export function versionOf(id: number, { author_id, edited_at, body }: CommentState): ReportedVersion {
  return { item: "comment", item_id: id, version: edited_at ?? 0, author_id, title: "", body };
}

/** Locks the post of a comment, standing or removed, and then the comment. */
async function lockWithPost({ tx }: Unit, id: number): Promise<LockedComment> {
  const postId = await findPostOfComment(tx, id);
  const post = postId === undefined ? undefined : await lockAnywhere(tx, postId);
  if (postId !== undefined && post !== undefined) {
    const place = { postId, communityId: post.communityId, isPostRemoved: post.standing === undefined };
    const standing = await lockComment(tx, id);
    if (standing !== undefined) return { ...place, standing };
    const removed = await lockRemovedComment(tx, id);
    if (removed !== undefined) return { ...place, removed };
  }
  throw unknownComment();
}
