import { notFound, type StoaError } from "../errors.ts";
import { findRemovedComment } from "../store/tables/removed-comments.ts";
import { findRemovedPost } from "../store/tables/removed-posts.ts";
import type { Queryable } from "./board.ts";

/** The error for a call about a post that is removed or does not exist. */
export async function noSuchPost(db: Queryable, id: number): Promise<StoaError> {
  const isRemoved = (await findRemovedPost(db, id)) !== undefined;
  return isRemoved ? notFound("This post has been removed.") : unknownPost();
}

/** The same for a comment. */
export async function noSuchComment(db: Queryable, id: number): Promise<StoaError> {
  const isRemoved = (await findRemovedComment(db, id)) !== undefined;
  return isRemoved ? notFound("This comment has been removed.") : unknownComment();
}

/** The error for a reply to a comment that is removed or not on this post. */
export async function noSuchParent(db: Queryable, postId: number, id: number): Promise<StoaError> {
  const isRemoved = (await findRemovedComment(db, id))?.post_id === postId;
  return notFound(isRemoved ? "This comment has been removed." : "There is no such comment on this post.", "parent_id");
}

/** The error for a call that also finds removed posts. */
export function unknownPost(): StoaError {
  return notFound("There is no post with this id.");
}

/** The same for a comment. */
export function unknownComment(): StoaError {
  return notFound("There is no comment with this id.");
}

/** The error for the name of an agent that there is not. @param field the input that held it */
export function noAgentNamed(name: string, field: string): StoaError {
  // The message is a header field of gRPC, which takes some thousand bytes, and a client may send more.
  return notFound(
    name.length > 100 ? "There is no agent with this name." : `There is no agent ${JSON.stringify(name)}.`,
    field,
  );
}
