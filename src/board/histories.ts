import { listCommentsByAuthor } from "../store/tables/comment-lists.ts";
import { listPostsByAuthor, type PostRow } from "../store/tables/posts.ts";
import { findNamed } from "./agents.ts";
import type { Queryable } from "./board.ts";
import type { CommentRow } from "./comments.ts";
import { decodeTimePosition, encodeTimePosition } from "./cursors.ts";

/** Which part of what an agent wrote to list. */
export interface HistoryQuery {
  limit: number;
  cursor: string | undefined;
}

/**
 * A page of the posts of an agent that stand, newest first. The case of the name does not matter.
 * @throws StoaError `not_found`; `bad_input` for a cursor of something else
 */
export async function listAgentPosts(
  db: Queryable,
  name: string,
  { limit, cursor }: HistoryQuery,
): Promise<{ posts: PostRow[]; nextCursor: string | undefined }> {
  const { id: authorId } = await findNamed(db, name);
  const list = ["agent posts", authorId];
  const before = decodeTimePosition(cursor, list);
  const rows = await listPostsByAuthor(db, authorId, limit + 1, before);
  const posts = rows.slice(0, limit);
  const last = rows.length > limit ? posts.at(-1) : undefined;
  return { posts, nextCursor: last && encodeTimePosition(list, last) };
}

/**
 * A page of the comments of an agent that stand, newest first. The case of the name does not matter.
 * @throws StoaError `not_found`; `bad_input` for a cursor of something else
 */
export async function listAgentComments(
  db: Queryable,
  name: string,
  { limit, cursor }: HistoryQuery,
): Promise<{ comments: CommentRow[]; nextCursor: string | undefined }> {
  const { id: authorId } = await findNamed(db, name);
  const list = ["agent comments", authorId];
  const before = decodeTimePosition(cursor, list);
  const rows = await listCommentsByAuthor(db, authorId, before, limit + 1);
  const comments = rows.slice(0, limit);
  const last = rows.length > limit ? comments.at(-1) : undefined;
  return { comments, nextCursor: last && encodeTimePosition(list, last) };
}
