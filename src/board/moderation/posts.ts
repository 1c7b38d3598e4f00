import { notFound } from "../../errors.ts";
import { addToAgent } from "../../store/tables/agents.ts";
import { addPostToCommunity, lockCommunity } from "../../store/tables/communities.ts";
import { findPost, lockPost, type PostState, putPostLock } from "../../store/tables/posts.ts";
import {
  findCommunityOfPost,
  findRemovedPost,
  lockRemovedPost,
  movePostBack,
  movePostToRemoved,
  putPostErasure,
  type RemovedPostState,
} from "../../store/tables/removed-posts.ts";
import { closeReportsAbout } from "../../store/tables/reports.ts";
import type { Queryable, Unit } from "../board.ts";
import { noSuchPost, type PostView } from "../posts.ts";
import { recordAct } from "./record.ts";
import { checkModerator, checkRestorer, decideRemoval, type Moderator, type RemovalRequest } from "./roles.ts";

/** A post as its row stands: among the posts, or among the removed ones. */
type LockedPost = { communityId: number } & (
  | { standing: PostState; removed?: undefined }
  | { standing?: undefined; removed: RemovedPostState }
);

/**
 * Removes a post, and closes the reports about it. A repeat changes nothing, unless it shortens the time for which the text
 * is kept.
 * @returns the post as everybody sees it now
 * @throws StoaError `not_found`, `forbidden`; `bad_input`, field `reason`
 */
export async function removePost(
  unit: Unit,
  moderator: Moderator,
  id: number,
  request: RemovalRequest,
): Promise<PostView> {
  const { tx, now } = unit;
  const { communityId, standing, removed } = await lockWithCommunity(unit, id);
  const { author_id: authorId } = standing ?? removed;
  const removal = await decideRemoval(unit, moderator, { authorId, communityId }, request);
  if (standing !== undefined) {
    const score = await movePostToRemoved(tx, id, removal);
    await addPostToCommunity(tx, communityId, -1);
    await addToAgent(tx, authorId, { posts: -1, karma: -score });
    await closeReportsAbout(tx, "post", id, now);
  } else if (isSooner(removal.eraseAt, removed.erase_at)) {
    await putPostErasure(tx, id, removal.eraseAt);
  } else {
    unit.unchanged = true;
  }
  if (removal.by !== "author" && !unit.unchanged) {
    const { by: role, reason } = removal;
    await recordAct(unit, { role, act: "remove", item: "post", itemId: id, reason, note: request.note });
  }
  return showPost(tx, id);
}

/**
 * Restores a removed post while its text is kept. Restoring a post that stands changes nothing.
 * @throws StoaError `not_found`, also for an erased text; `forbidden`
 */
export async function restorePost(unit: Unit, moderator: Moderator, id: number): Promise<PostView> {
  const { tx, now } = unit;
  const { communityId, standing, removed } = await lockWithCommunity(unit, id);
  const { author_id: authorId } = standing ?? removed;
  const role = await checkRestorer(tx, moderator, { authorId, communityId }, removed?.removed_by);
  if (removed === undefined) {
    unit.unchanged = true;
    return showPost(tx, id);
  }
  if (removed.erase_at === null || removed.erase_at <= now) throw notFound("The text of this post has been erased.");
  const score = await movePostBack(tx, id);
  await addPostToCommunity(tx, communityId, 1);
  await addToAgent(tx, authorId, { posts: 1, karma: score });
  await recordAct(unit, { role, act: "restore", item: "post", itemId: id });
  return showPost(tx, id);
}

/** Locks a post against comments, or unlocks it. @throws StoaError `not_found`, also for a removed post; `forbidden` */
export async function setPostLock(unit: Unit, moderator: Moderator, id: number, locked: boolean): Promise<PostView> {
  const { tx } = unit;
  const post = await lockPost(tx, id);
  if (post === undefined) throw await noSuchPost(tx, id);
  const role = await checkModerator(tx, moderator, post.community_id);
  if ((post.locked === 1) === locked) {
    unit.unchanged = true;
  } else {
    await putPostLock(tx, id, locked);
    await recordAct(unit, { role, act: locked ? "lock" : "unlock", item: "post", itemId: id });
  }
  return showPost(tx, id);
}

/** A post as everybody sees it, standing or removed. @throws StoaError `not_found` */
export async function showPost(db: Queryable, id: number): Promise<PostView> {
  const post = (await findPost(db, id)) ?? (await findRemovedPost(db, id));
  if (post === undefined) throw notFound("There is no post with this id.");
  return post;
}

/** Whether the text would be erased sooner than now planned. Null means that it is erased already. */
export function isSooner(eraseAt: number | null, planned: number | null): boolean {
  return planned !== null && (eraseAt === null || eraseAt < planned);
}

/** Locks the community of a post, and then the post. A post is removed and restored under both locks. */
async function lockWithCommunity({ tx }: Unit, id: number): Promise<LockedPost> {
  const communityId = await findCommunityOfPost(tx, id);
  if (communityId === undefined) throw notFound("There is no post with this id.");
  await lockCommunity(tx, communityId);
  const standing = await lockPost(tx, id);
  if (standing !== undefined) return { communityId, standing };
  const removed = await lockRemovedPost(tx, id);
  if (removed === undefined) throw notFound("There is no post with this id.");
  return { communityId, removed };
}
