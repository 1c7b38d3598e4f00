import type { Comment } from "../../gen/stoa/v1/resources_pb.js";

/** A comment and its position in the thread. */
export interface ThreadedComment {
  comment: Comment;
  /** How many comments lie between it and the top level. */
  depth: number;
  /** The comment that it replies to, if that is on the same page. */
  parent: Comment | undefined;
  /** Whether the page already says what it replies to. */
  isOnPageOfParent?: boolean;
}

/**
 * Sorts comments into reading order: each comment is followed by its replies and theirs. Siblings keep their order. A reply
 * to a comment that is not on this page starts a thread of its own. Threads may be very deep, so this does not recurse.
 */
export function thread(comments: Comment[]): ThreadedComment[] {
  const byId = new Map(comments.map((comment) => [comment.id, comment]));
  const replies = new Map<bigint | undefined, Comment[]>();
  for (const comment of comments) {
    const parent = comment.parentId !== undefined && byId.has(comment.parentId) ? comment.parentId : undefined;
    const siblings = replies.get(parent);
    if (siblings === undefined) replies.set(parent, [comment]);
    else siblings.push(comment);
  }
  const result: ThreadedComment[] = [];
  const open: ThreadedComment[] = [];
  const push = (parent: Comment | undefined, depth: number) => {
    for (const comment of (replies.get(parent?.id) ?? []).toReversed()) open.push({ comment, depth, parent });
  };
  push(undefined, 0);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    result.push(next);
    push(next.comment, next.depth + 1);
  }
  return result;
}
