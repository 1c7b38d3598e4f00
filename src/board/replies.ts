import { badInput } from "../errors.ts";
import { listReplies as listRows } from "../store/tables/comment-lists.ts";
import { findPostOfComment } from "../store/tables/removed-comments.ts";
import type { Queryable } from "./board.ts";
import type { CommentRow } from "./comments.ts";
import { decodeCursor, encodeCursor } from "./cursors.ts";
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
  const after = cursor === undefined ? 0 : idOf(cursor, id);
  const rows = await listRows(db, id, after, limit + 1);
  if (rows.length === 0 && (await findPostOfComment(db, id)) === undefined) throw unknownComment();
  const comments = rows.slice(0, limit);
  const last = rows.length > limit ? comments.at(-1) : undefined;
  return { comments, nextCursor: last && encodeCursor(["replies", id, last.id]) };
}

function idOf(cursor: string, parentId: number): number {
  const [kind, parent, id, ...rest] = decodeCursor(cursor);
  if (kind !== "replies" || parent !== parentId || !Number.isSafeInteger(id) || rest.length > 0) {
    throw badInput("cursor", "This is not a cursor of the replies to this comment.");
  }
  return id as number;
}
