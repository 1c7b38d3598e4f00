import { listReplies as listRows } from "../store/tables/comment-lists.ts";
import { findPostOfComment } from "../store/tables/removed-comments.ts";
import type { Queryable } from "./board.ts";
import type { CommentRow } from "./comments.ts";
import { decodeTimePosition, encodeTimePosition } from "./cursors.ts";
import { unknownComment } from "./missing.ts";

/**
 * A page of the direct replies to a comment, standing or removed, oldest first. Removed replies keep their place.
 * @throws StoaError `not_found`; `bad_input` for a cursor of something else
 */
export async function listReplies(
  db: Queryable,
  id: number,
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ comments: CommentRow[]; nextCursor: string | undefined }> {
  const list = ["replies", id];
  const after = decodeTimePosition(cursor, list, "the replies to this comment");
  const rows = await listRows(db, id, after, limit + 1);
  if (rows.length === 0 && (await findPostOfComment(db, id)) === undefined) throw unknownComment();
  const comments = rows.slice(0, limit);
  const last = rows.length > limit ? comments.at(-1) : undefined;
  return { comments, nextCursor: last && encodeTimePosition(list, last) };
}
