import type { CommentPosition, CommentSort } from "../store/tables/comment-lists.ts";
import { type Cursor, decodeNumbers, encodeCursor } from "./cursors.ts";

/** The cursor of the comments after a position, in an order. */
export function encodePosition({ score, createdAt, id }: CommentPosition, postId: number, sort: CommentSort): string {
  return encodeCursor([...listOf(postId, sort), ...(sort === "top" ? [score] : []), createdAt, id]);
}

/** Reads a cursor. @throws StoaError `bad_input` for one of another post, another order or something else */
export function decodePosition(cursor: string, postId: number, sort: CommentSort): CommentPosition {
  const isTop = sort === "top";
  const numbers = decodeNumbers(cursor, listOf(postId, sort), isTop ? 3 : 2, "this post's comments in this order");
  const [score, createdAt, id] = (isTop ? numbers : [0, ...numbers]) as [number, number, number];
  return { score, createdAt, id };
}

/** The name of the list. `old` is left out, because that order existed before cursors named one. */
function listOf(postId: number, sort: CommentSort): Cursor {
  return ["comments", postId, ...(sort === "old" ? [] : [sort])];
}
