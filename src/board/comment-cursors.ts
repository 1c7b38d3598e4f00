import { badInput } from "../errors.ts";
import { type CommentPosition, type CommentSort, findCommentTime } from "../store/tables/comment-lists.ts";
import type { Queryable } from "./board.ts";
import { type Cursor, decodeTimePosition, encodeCursor, valuesOf } from "./cursors.ts";

/** The cursor of the comments after a position, in an order. */
export function encodePosition({ score, createdAt, id }: CommentPosition, postId: number, sort: CommentSort): string {
  return encodeCursor([...listOf(postId, sort), ...(sort === "top" ? [score] : []), createdAt, id]);
}

/** Reads a cursor. @throws StoaError `bad_input` for one of another post, another order or something else */
export async function decodePosition(
  db: Queryable,
  cursor: string,
  postId: number,
  sort: CommentSort,
): Promise<CommentPosition> {
  const list = listOf(postId, sort);
  const what = "this post's comments in this order";
  const score = sort === "top" ? valuesOf(cursor, list)?.[0] : 0;
  const listWithScore = sort === "top" ? [...list, score ?? null] : list;
  const position = await decodeTimePosition(cursor, listWithScore, what, (id) => findCommentTime(db, id));
  if (position === undefined || !Number.isSafeInteger(score))
    throw badInput("cursor", `This is not a cursor of ${what}.`);
  return { score: score as number, ...position };
}

/** The order `old` was there before the others. */
function listOf(postId: number, sort: CommentSort): Cursor {
  return ["comments", postId, ...(sort === "old" ? [] : [sort])];
}
