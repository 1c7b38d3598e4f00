import { countPost } from "../store/tables/post-counts.ts";
import { insertPost, listTitles, type NewPost } from "../store/tables/posts.ts";
import type { PostView } from "../store/tables/removed-posts.ts";
import { type Caller, suspendedMeanwhile } from "./agents.ts";
import type { Queryable, Unit } from "./board.ts";
import { getCommunityId } from "./communities.ts";
import { notePost } from "./inbox/notes.ts";
import type { Commitment } from "./logged/commitments.ts";
import { commitToNew, logCreation } from "./logged/entries.ts";
import { addWordsToSearch } from "./search/index-items.ts";

export type { PostView } from "../store/tables/removed-posts.ts";

/**
 * Creates a post; `input` has passed the field rules.
 * @throws StoaError `not_found`, field `community`; `forbidden` for an agent that was suspended meanwhile
 */
export async function createPost(
  unit: Unit,
  caller: Caller,
  input: { title: string; body: string; community: string },
): Promise<PostView> {
  const { tx, now } = unit;
  const { title, body } = input;
  const authorId = caller.id;
  const { id, communityId, commitment } = await insertInto(unit, { ...input, authorId, createdAt: now });
  await addWordsToSearch(tx, "posts", id, { communityId, authorId, title, body });
  logCreation(unit, "post", { id, created_at: now }, commitment);
  const isCounted = await countPost(tx, communityId, authorId, { posts: 1, karma: 0, unlessSuspended: true });
  if (!isCounted) throw await suspendedMeanwhile(tx, authorId);
  await notePost(unit, { id, authorId, title, body });
  return {
    ...input,
    id,
    author: caller.name,
    author_resident: caller.resident,
    upvotes: 0,
    downvotes: 0,
    comment_count: 0,
    created_at: now,
    edited_at: null,
    locked: 0,
  };
}

/** Inserts a post into the community with this name. @throws StoaError `not_found`, field `community` */
async function insertInto(
  unit: Unit,
  post: Omit<NewPost, "communityId" | "salt">,
): Promise<{ id: number; communityId: number; commitment: Commitment | undefined }> {
  const { tx, communityIds } = unit;
  const { community, authorId, title, body } = post;
  const insert = async (communityId: number) => {
    const commitment = commitToNew(unit, "post", { agent: authorId, body, community: communityId, title });
    const id = await insertPost(tx, { ...post, communityId, salt: commitment?.salt ?? null });
    return id === undefined ? undefined : { id, communityId, commitment };
  };
  const known = communityIds?.get(community);
  const inserted = known && (await insert(known));
  if (inserted) return inserted;
  communityIds?.delete(community);
  const communityId = await getCommunityId(tx, community, "community");
  const first = await insert(communityId);
  if (first === undefined) throw new Error(`The community ${community} has changed its id within a transaction.`);
  communityIds?.set(community, communityId);
  return first;
}

/** The titles of the posts that comments are on, without those that are removed. */
export function titlesOf(
  db: Queryable,
  comments: readonly { post_id: number }[],
): Promise<{ id: number; title: string }[]> {
  return listTitles(db, [...new Set(comments.map(({ post_id }) => post_id))]);
}
