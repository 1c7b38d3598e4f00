import type { Comment } from "../../gen/stoa/v1/resources_pb.js";

/** A comment at its place in the thread. */
export interface ThreadedComment {
  comment: Comment;
  /** How many of the comments above it answers, one through the other. */
  depth: number;
  /** What it replies to, where that is on the same page. */
  parent: Comment | undefined;
}

/**
 * The order in which a thread is read: each comment, then its replies with theirs, siblings in the order in which they
 * came. A reply to a comment that is not among these begins a thread of its own. Threads may be as deep as they are long,
 * so nothing here recurs.
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
