import { badInput } from "../errors.ts";
import { listCommentsByAuthor } from "../store/tables/comment-lists.ts";
import { listPostsByAuthor, type PostRow } from "../store/tables/posts.ts";
import { findNamed } from "./agents.ts";
import type { Queryable } from "./board.ts";
import type { CommentRow } from "./comments.ts";
import { type Cursor, decodeCursor, encodeCursor } from "./cursors.ts";

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
  const [createdAt, id] = cursor === undefined ? [] : valuesOf(cursor, ["agent posts", authorId], 2);
  const before = createdAt === undefined || id === undefined ? undefined : { createdAt, id };
  const rows = await listPostsByAuthor(db, authorId, limit + 1, before);
  const posts = rows.slice(0, limit);
  const last = rows.length > limit ? posts.at(-1) : undefined;
  return { posts, nextCursor: last && encodeCursor(["agent posts", authorId, last.created_at, last.id]) };
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
  const [before] = cursor === undefined ? [] : valuesOf(cursor, ["agent comments", authorId], 1);
  const rows = await listCommentsByAuthor(db, authorId, before ?? Number.MAX_SAFE_INTEGER, limit + 1);
  const comments = rows.slice(0, limit);
  const last = rows.length > limit ? comments.at(-1) : undefined;
  return { comments, nextCursor: last && encodeCursor(["agent comments", authorId, last.id]) };
}

/** The sort values in a cursor: `count` integers after the name of the list. */
function valuesOf(cursor: string, list: Cursor, count: number): number[] {
  const decoded = decodeCursor(cursor);
  const values = decoded.slice(list.length);
  const isOfList = list.every((value, index) => decoded[index] === value) && values.length === count;
  if (!isOfList || !values.every(Number.isSafeInteger)) throw badInput("cursor", "This is not a cursor of this list.");
  return values as number[];
}
