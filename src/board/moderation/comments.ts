import { addToAgent } from "../../store/tables/agents.ts";
import { type CommentState, findComment, lockComment } from "../../store/tables/comments.ts";
import {
  findPostOfComment,
  findRemovedComment,
  lockRemovedComment,
  moveCommentBack,
  moveCommentToRemoved,
  type RemovedCommentState,
} from "../../store/tables/removed-comments.ts";
import { addToCommentCount } from "../../store/tables/removed-posts.ts";
import type { ReportedVersion } from "../../store/tables/reported-texts.ts";
import type { Queryable, Unit } from "../board.ts";
import type { CommentRow } from "../comments.ts";
import { unknownComment } from "../missing.ts";
import { lockAnywhere } from "./posts.ts";
import { type Locked, remove, restore } from "./removals.ts";
import type { Moderator, RemovalRequest } from "./roles.ts";

/** Removes a comment; see `remove`. @returns the comment as everybody sees it now. @throws StoaError also `not_found` */
export async function removeComment(
  unit: Unit,
  moderator: Moderator,
  id: number,
  request: RemovalRequest,
): Promise<CommentRow> {
  await remove(unit, moderator, await lockExisting(unit, id), request);
  return showComment(unit.tx, id);
}

/** Restores a removed comment; see `restore`. */
export async function restoreComment(unit: Unit, moderator: Moderator, id: number): Promise<CommentRow> {
  await restore(unit, moderator, await lockExisting(unit, id));
  return showComment(unit.tx, id);
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

/** Locks the post of a comment, standing or removed, and then the comment. @throws StoaError `not_found` */
async function lockExisting({ tx }: Unit, id: number): Promise<Locked<RemovedCommentState>> {
  const postId = await findPostOfComment(tx, id);
  const post = postId === undefined ? undefined : await lockAnywhere(tx, postId);
  const standing = post && (await lockComment(tx, id));
  const removed = post && (standing === undefined ? await lockRemovedComment(tx, id) : undefined);
  const { author_id: authorId } = standing ?? removed ?? {};
  if (postId === undefined || post === undefined || authorId === undefined) throw unknownComment();
  const isPostRemoved = post.standing === undefined;
  return {
    item: "comment",
    item_id: id,
    communityId: post.communityId,
    words: { postId, commentId: id, authorId },
    standing: standing && { version: versionOf(id, standing), salt: standing.salt },
    removed,
    async takeAway(removal) {
      await moveCommentToRemoved(tx, id, removal);
      await addToCommentCount(tx, postId, isPostRemoved, -1);
      await addToAgent(tx, authorId, { comments: -1, karma: -(standing?.score ?? 0) });
    },
    async putBack({ score }) {
      await addToCommentCount(tx, postId, isPostRemoved, 1);
      await moveCommentBack(tx, id);
      await addToAgent(tx, authorId, { comments: 1, karma: score });
    },
  };
}
