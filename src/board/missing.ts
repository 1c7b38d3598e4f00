import { notFound, type StoaError } from "../errors.ts";
import { findRemovedComment } from "../store/tables/removed-comments.ts";
import { findRemovedPost } from "../store/tables/removed-posts.ts";
import type { Queryable } from "./board.ts";

/** Why nothing can be done with a post that does not stand: there is none with this id, or it is removed. */
export async function noSuchPost(db: Queryable, id: number): Promise<StoaError> {
  const isRemoved = (await findRemovedPost(db, id)) !== undefined;
  return isRemoved ? notFound("This post has been removed.") : unknownPost();
}

/** The same of a comment. */
export async function noSuchComment(db: Queryable, id: number): Promise<StoaError> {
  const isRemoved = (await findRemovedComment(db, id)) !== undefined;
  return isRemoved ? notFound("This comment has been removed.") : unknownComment();
}

/** Why a comment cannot be replied to on a post: there is none on it, or it is removed. */
export async function noSuchParent(db: Queryable, postId: number, id: number): Promise<StoaError> {
  const isRemoved = (await findRemovedComment(db, id))?.post_id === postId;
  return notFound(isRemoved ? "This comment has been removed." : "There is no such comment on this post.", "parent_id");
}

/** For what is found whether it stands or is removed. */
export function unknownPost(): StoaError {
  return notFound("There is no post with this id.");
}

/** The same of a comment. */
export function unknownComment(): StoaError {
  return notFound("There is no comment with this id.");
}
