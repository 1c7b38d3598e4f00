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
  type RemovedPostState,
} from "../../store/tables/removed-posts.ts";
import type { ReportedVersion } from "../../store/tables/reported-texts.ts";
import type { Queryable, Unit } from "../board.ts";
import { noteAct } from "../inbox/changes.ts";
import { noSuchPost, unknownPost } from "../missing.ts";
import type { PostView } from "../posts.ts";
import { recordAct } from "./record.ts";
import { type Locked, remove, restore } from "./removals.ts";
import { checkModerator, type Moderator, type RemovalRequest } from "./roles.ts";

/** A post as its row stands: among the posts, or among the removed ones. */
type LockedPost = { communityId: number } & (
  | { standing: PostState; removed?: undefined }
  | { standing?: undefined; removed: RemovedPostState }
);

/** Removes a post; see `remove`. @returns the post as everybody sees it now. @throws StoaError also `not_found` */
export async function removePost(
  unit: Unit,
  moderator: Moderator,
  id: number,
  request: RemovalRequest,
): Promise<PostView> {
  await remove(unit, moderator, await lockExisting(unit, id), request);
  return showPost(unit.tx, id);
}

/** Restores a removed post; see `restore`. */
export async function restorePost(unit: Unit, moderator: Moderator, id: number): Promise<PostView> {
  await restore(unit, moderator, await lockExisting(unit, id));
  return showPost(unit.tx, id);
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

/** The text of a post that is locked. */
export function versionOf(id: number, { author_id, edited_at, title, body }: PostState): ReportedVersion {
  return { item: "post", item_id: id, version: edited_at ?? 0, author_id, title, body };
}

async function lockExisting({ tx }: Unit, id: number): Promise<Locked<RemovedPostState>> {
  const post = await lockAnywhere(tx, id);
  if (post === undefined) throw unknownPost();
  const { communityId, standing, removed } = post;
  const { author_id: authorId } = standing ?? removed;
  return {
    item: "post",
    item_id: id,
    communityId,
    words: { postId: id, commentId: null, authorId },
    standing: standing && { version: versionOf(id, standing), salt: standing.salt },
    removed,
    async takeAway(removal) {
      await shareCommunity(tx, communityId);
      const score = await movePostToRemoved(tx, id, removal);
      await countPost(tx, communityId, authorId, { posts: -1, karma: -score });
    },
    async putBack({ upvotes, downvotes }) {
      await movePostBack(tx, id);
      await countPost(tx, communityId, authorId, { posts: 1, karma: upvotes - downvotes });
    },
  };
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
