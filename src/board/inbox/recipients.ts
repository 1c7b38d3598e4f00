import type { Recipient } from "../../store/tables/inboxes.ts";

/**
 * The types of the items that are written with their cause, as they are stored: the enum values of the contract in lower case,
 * without their prefix. `insertNews` writes the others, of type `subscription`.
 */
export type InboxItemType = "post_comment" | "comment_reply" | "mention" | "moderation" | "key_revoked";

/** The agents that a post or comment concerns. */
export interface Concerned {
  authorId: number;
  /** The author of the post that a comment is on. */
  postAuthorId?: number;
  /** The author of the comment that a comment replies to. */
  parentAuthorId?: number | null;
  mentioned: Iterable<number>;
}

/**
 * Decides who gets an item about a new post or comment, and of which type. Nobody gets two, or one about its own words.
 * @returns the recipients in the order of their ids, in which inboxes are locked
 */
export function recipientsOf({ authorId, postAuthorId, parentAuthorId, mentioned }: Concerned): Recipient[] {
  const types = new Map<number, InboxItemType>();
  for (const agentId of mentioned) types.set(agentId, "mention");
  if (postAuthorId !== undefined) types.set(postAuthorId, "post_comment");
  if (typeof parentAuthorId === "number") types.set(parentAuthorId, "comment_reply");
  types.delete(authorId);
  return [...types].map(([agentId, type]) => ({ agentId, type })).sort((a, b) => a.agentId - b.agentId);
}
