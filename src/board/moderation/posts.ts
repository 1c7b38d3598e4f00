import { notFound } from "../../errors.ts";
import { RowMoved } from "../../store/database/database-errors.ts";
import type { Tx } from "../../store/database/queryable.ts";
import { shareCommunity } from "../../store/tables/communities.ts";
import { countPost } from "../../store/tables/post-counts.ts";
import { findPost, lockPost, type PostState, postStands, putPostLock } from "../../store/tables/posts.ts";
import {
  findRemovedPost,
  lockRemovedPost,
  movePostBack,
  movePostToRemoved,
  type NewRemoval,
  putPostRemoval,
  type RemovalChange,
  type RemovedPostState,
} from "../../store/tables/removed-posts.ts";
import type { ReportedVersion } from "../../store/tables/reported-texts.ts";
import type { Queryable, Unit } from "../board.ts";
import { type NotedAct, noteAct, noteRemoval, noteRestore } from "../inbox/changes.ts";
import { logDeletion, logRestore } from "../logged/entries.ts";
import { noSuchPost, unknownPost } from "../missing.ts";
import type { PostView } from "../posts.ts";
import { removeFromSearch, restoreInSearch } from "../search/index-items.ts";
import { beginCleanUp, endCleanUp } from "./clean-up.ts";
import { recordAct } from "./record.ts";
import { endReported, keepDeleted } from "./reported.ts";
import { checkModerator, checkRestorer, decideRemoval, type Moderator, type RemovalRequest } from "./roles.ts";

/** A post as its row stands: among the posts, or among the removed ones. */
type LockedPost = { communityId: number } & (
  | { standing: PostState; removed?: undefined }
  | { standing?: undefined; removed: RemovedPostState }
);

/**
 * Removes a post, and closes the reports about it; those about what its author deletes stay open for moderators. A repeat
 * changes nothing, unless the author was quicker than a moderator or the operator, the operator takes the removal over, or the
 * time for which the text is kept becomes shorter.
 * @returns the post as everybody sees it now
 * @throws StoaError `not_found`, `forbidden`; `bad_input`, field `reason`
 */
export async function removePost(
  unit: Unit,
  moderator: Moderator,
  id: number,
  request: RemovalRequest,
): Promise<PostView> {
  const { tx } = unit;
  const { communityId, standing, removed } = await lockExisting(unit, id);
  const { author_id: authorId } = standing ?? removed;
  const removal = await decideRemoval(unit, moderator, { authorId, communityId }, request);
  const change = removed && changeOfRemoval(removal, removed);
  const words = { postId: id, commentId: null, authorId };
  const item = { item: "post", item_id: id } as const;
  const noted: NotedAct = { moderator, act: "remove", reason: removal.reason };
  let isNoted = false;
  if (standing !== undefined) {
    if (removal.by === "author") await keepDeleted(unit, versionOf(id, standing));
    await shareCommunity(tx, communityId);
    const score = await movePostToRemoved(tx, id, removal);
    await removeFromSearch(tx, "posts", id);
    await countPost(tx, communityId, authorId, { posts: -1, karma: -score });
    isNoted = await noteRemoval(unit, words, noted);
    if (removal.by === "author") {
      await beginCleanUp(unit, item);
      logDeletion(unit, "post", { id, at: removal.at }, standing.salt);
    } else {
      await endReported(unit, item);
    }
  } else if (change !== undefined) {
    await putPostRemoval(tx, id, change);
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
      item: "post",
      itemId: id,
      reason,
      note: request.note,
      isNoted,
    });
  }
  return showPost(tx, id);
}

/**
 * Restores a removed post while its text is kept. Restoring a post that stands changes nothing.
 * @throws StoaError `not_found`, also for an erased text; `forbidden`
 */
export async function restorePost(unit: Unit, moderator: Moderator, id: number): Promise<PostView> {
  const { tx, now } = unit;
  const { communityId, standing, removed } = await lockExisting(unit, id);
  const { author_id: authorId } = standing ?? removed;
  await checkRestorer(tx, moderator, { authorId, communityId }, removed?.removed_by);
  if (removed === undefined) {
    unit.unchanged = true;
    return showPost(tx, id);
  }
  if (removed.erase_at === null || removed.erase_at <= now) throw notFound("The text of this post has been erased.");
  await movePostBack(tx, id);
  await endCleanUp(unit, { item: "post", item_id: id });
  await restoreInSearch(tx, "posts", id);
  await countPost(tx, communityId, authorId, { posts: 1, karma: removed.upvotes - removed.downvotes });
  const isNoted = await noteRestore(unit, { postId: id, commentId: null, authorId }, { moderator, act: "restore" });
  await logRestore(unit, "post", id);
  await recordAct(unit, { by: moderator, act: "restore", item: "post", itemId: id, isNoted });
  return showPost(tx, id);
}

/** Locks a post against comments, or unlocks it. @throws StoaError `not_found`, also for a removed post; `forbidden` */
export async function setPostLock(unit: Unit, moderator: Moderator, id: number, locked: boolean): Promise<PostView> {
  const { tx } = unit;
  const post = await lockPost(tx, id);
  if (post === undefined) throw await noSuchPost(tx, id);
  await checkModerator(tx, moderator, post.community_id);
  if ((post.locked === 1) === locked) {
    unit.unchanged = true;
  } else {
    await putPostLock(tx, id, locked);
    const act = locked ? "lock" : "unlock";
    const words = { postId: id, commentId: null, authorId: post.author_id };
    const isNoted = await noteAct(unit, words, { moderator, act });
    await recordAct(unit, { by: moderator, act, item: "post", itemId: id, isNoted });
  }
  return showPost(tx, id);
}

/**
 * A post as everybody sees it, standing or removed. It may be restored between two looks.
 * @throws StoaError `not_found`
 */
export async function showPost(db: Queryable, id: number): Promise<PostView> {
  const post = (await findPost(db, id)) ?? (await findRemovedPost(db, id)) ?? (await findPost(db, id));
  if (post === undefined) throw unknownPost();
  return post;
}

/**
 * What a second removal changes. If the author was quicker, a moderator or the operator adds the reason; the text is gone. If
 * the operator removes what a moderator has removed, moderators can no longer restore it. Otherwise a second removal only
 * shortens the time for which the text is kept. A moderator cannot shorten the operator's.
 * @returns undefined if it changes nothing
 */
export function changeOfRemoval(
  { by, reason, eraseAt, at }: NewRemoval,
  { removed_by, reason: before, erase_at: planned }: Pick<RemovedPostState, "removed_by" | "reason" | "erase_at">,
): RemovalChange | undefined {
  if (removed_by === "author") return by === "author" ? undefined : { by, reason, eraseAt: null, at };
  // A text that is erased stays erased.
  if (by === "operator" && removed_by === "moderator")
    return { by, reason, eraseAt: planned === null ? null : eraseAt };
  if (by === "moderator" && removed_by === "operator") return undefined;
  const isSooner = planned !== null && (eraseAt === null || eraseAt < planned);
  return isSooner ? { by: removed_by, reason: before, eraseAt } : undefined;
}

/** The text of a post that is locked. */
export function versionOf(id: number, { author_id, edited_at, title, body }: PostState): ReportedVersion {
  return { item: "post", item_id: id, version: edited_at ?? 0, author_id, title, body };
}

async function lockExisting({ tx }: Unit, id: number): Promise<LockedPost> {
  const post = await lockAnywhere(tx, id);
  if (post === undefined) throw unknownPost();
  return post;
}

/**
 * Locks a post where it is, standing or removed. Its community follows later: the engines lock that, too, when a vote
 * changes an index of the foreign key.
 * @returns undefined when there is no such post
 * @throws RowMoved if the post is removed or restored meanwhile; the transaction is run again
 */
export async function lockAnywhere(tx: Tx, id: number): Promise<LockedPost | undefined> {
  if (await postStands(tx, id)) {
    const standing = await lockPost(tx, id);
    if (standing === undefined) throw new RowMoved("The post has been removed meanwhile.");
    return { communityId: standing.community_id, standing };
  }
  const removed = await lockRemovedPost(tx, id);
  if (removed !== undefined) return { communityId: removed.community_id, removed };
  if (await postStands(tx, id)) throw new RowMoved("The post has been restored meanwhile.");
  return undefined;
}
