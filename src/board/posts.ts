import { notFound } from "../errors.ts";
import { addToAgent } from "../store/tables/agents.ts";
import { addPostToCommunity } from "../store/tables/communities.ts";
import { findPost, insertPost, type PostRow } from "../store/tables/posts.ts";
import type { Caller } from "./agents.ts";
import type { Queryable, Unit } from "./board.ts";
import { type CommentPage, listComments } from "./comments.ts";
import { getCommunityId } from "./communities.ts";

export type { PostRow } from "../store/tables/posts.ts";

/** A post as a response shows it: its row without the rank. */
export type PostView = Omit<PostRow, "hot">;

/** Creates a post; `input` has passed the field rules. @throws StoaError `not_found`, field `community`. */
export async function createPost(
  { tx, now }: Unit,
  caller: Caller,
  input: { title: string; body: string; community: string },
): Promise<PostView> {
  const communityId = await getCommunityId(tx, input.community, "community");
  await addPostToCommunity(tx, communityId);
  const { title, body } = input;
  const id = await insertPost(tx, { communityId, authorId: caller.id, title, body, createdAt: now });
  await addToAgent(tx, caller.id, { posts: 1 });
  return {
    ...input,
    id,
    author: caller.name,
    author_resident: caller.resident,
    score: 0,
    upvotes: 0,
    downvotes: 0,
    comment_count: 0,
    created_at: now,
  };
}

/** A post with the first page of its comments, read at the same moment as its counters. @throws StoaError `not_found`. */
export async function getPost(db: Queryable, id: number): Promise<{ post: PostView; page: CommentPage }> {
  const post = await findPost(db, id);
  if (post === undefined) throw notFound("There is no post with this id.");
  const page = await listComments(db, id);
  const { upvotes, downvotes, comment_count } = page.post;
  return { post: { ...post, upvotes, downvotes, comment_count, score: upvotes - downvotes }, page };
}
