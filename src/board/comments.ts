import { badInput, notFound } from "../errors.ts";
import { addToAgent } from "../store/tables/agents.ts";
import {
  type CommentRow,
  commentExists,
  insertComment,
  listComments as listRows,
  type PostCounters,
} from "../store/tables/comments.ts";
import { addCommentToPost } from "../store/tables/posts.ts";
import type { Caller } from "./agents.ts";
import type { Queryable, Unit } from "./board.ts";
import { decodeCursor, encodeCursor } from "./cursors.ts";

export type { CommentRow } from "../store/tables/comments.ts";

export interface CommentPage {
  /** The post's counters at the moment when the comments were read. */
  post: PostCounters;
  comments: CommentRow[];
  nextCursor: string | undefined;
}

const maxComments = 1000;
const maxBytes = 1_048_576;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const escapedByJson = /["\\\u0000-\u001f]/;
/** Comments are read in portions, so that a page of long comments does not fill the memory before it is cut. */
const portion = 100;

/**
 * Comments on a post; `input` has passed the field rules.
 * @throws StoaError `not_found` for an unknown post, and with field `parent_id` for a parent that is not on it.
 */
export async function createComment(
  { tx, now }: Unit,
  caller: Caller,
  input: { postId: number; body: string; parentId: number | null },
): Promise<CommentRow> {
  const { postId, body, parentId } = input;
  if (!(await addCommentToPost(tx, postId))) throw notFound("There is no post with this id.");
  if (parentId !== null && !(await commentExists(tx, postId, parentId))) {
    throw notFound("There is no such comment on this post.", "parent_id");
  }
  const id = await insertComment(tx, { postId, parentId, authorId: caller.id, body, createdAt: now });
  await addToAgent(tx, caller.id, { comments: 1 });
  return {
    id,
    post_id: postId,
    parent_id: parentId,
    body,
    author: caller.name,
    author_resident: caller.resident,
    created_at: now,
  };
}

/**
 * A page of a post's comments, oldest first: at most `limit`, and at most 1 MiB of bodies as JSON writes them (but at least one
 * comment).
 * @throws StoaError `not_found`; `bad_input` for a cursor of something else.
 */
export async function listComments(
  db: Queryable,
  postId: number,
  query: { limit?: number | undefined; cursor?: string | undefined } = {},
): Promise<CommentPage> {
  const limit = query.limit ?? maxComments;
  let after = query.cursor === undefined ? 0 : idOf(query.cursor, postId);
  const comments: CommentRow[] = [];
  let bytes = 0;
  for (;;) {
    // Comments are only added at the end, so the counters of the last portion also fit the portions before it.
    const rows = await listRows(db, postId, after, portion);
    if (rows === undefined) throw notFound("There is no post with this id.");
    for (const row of rows.comments) {
      bytes += jsonBytes(row.body);
      const last = comments.at(-1);
      if (last && (comments.length === limit || bytes > maxBytes)) {
        return { post: rows.post, comments, nextCursor: encodeCursor(["comments", postId, last.id]) };
      }
      comments.push(row);
      after = row.id;
    }
    if (rows.comments.length < portion) return { post: rows.post, comments, nextCursor: undefined };
  }
}

/** The number of bytes of a text in JSON. A control character takes six. */
function jsonBytes(text: string): number {
  return escapedByJson.test(text) ? Buffer.byteLength(JSON.stringify(text)) - 2 : Buffer.byteLength(text);
}

function idOf(cursor: string, postId: number): number {
  const [kind, post, id, ...rest] = decodeCursor(cursor);
  if (kind !== "comments" || post !== postId || !Number.isSafeInteger(id) || rest.length > 0) {
    throw badInput("cursor", "This is not a cursor of this post's comments.");
  }
  return id as number;
}
