import { findMentions } from "../../markdown/mentions.ts";
import { type ItemCause, insertItems, type Recipient } from "../../store/tables/inboxes.ts";
import { findMentioned } from "../../store/tables/mentions.ts";
import type { Queryable, Unit } from "../board.ts";
import { type InboxItemType, recipientsOf } from "./recipients.ts";

/*
 * Items are written in the transaction of their cause, after the rows of agents. So no item is lost, and none exists without
 * its cause. changes.ts has the functions for edits, removals and restores.
 */

/** Notes a new post in the inboxes of those that it mentions. */
export async function notePost(
  unit: Unit,
  { id, authorId, title, body }: { id: number; authorId: number; title: string; body: string },
): Promise<void> {
  if (!`${title}${body}`.includes("@")) return;
  const recipients = recipientsOf({ authorId, mentioned: await idsOf(unit.tx, findMentions(body, title)) });
  await putItems(unit, recipients, { postId: id, commentId: null, actorId: authorId, act: null, reason: null });
}

/** A comment, and the authors of what it is about. */
export interface NotedComment {
  id: number;
  postId: number;
  authorId: number;
  postAuthorId: number;
  /** Null if the comment is no reply. */
  parentAuthorId: number | null;
  body: string;
}

/** Notes a new comment in the inboxes of the post's author, of its parent's author, and of those that it mentions. */
export async function noteComment(unit: Unit, comment: NotedComment): Promise<void> {
  const { id, postId, authorId, body } = comment;
  const recipients = recipientsOf({ ...comment, mentioned: await idsOf(unit.tx, findMentions(body)) });
  await putItems(unit, recipients, { postId, commentId: id, actorId: authorId, act: null, reason: null });
}

/** Puts an item into the inbox of each recipient. They must be in the order of their ids. */
export async function putItems(unit: Unit, recipients: readonly Recipient[], cause: ItemCause): Promise<void> {
  if (recipients.length === 0) return;
  await insertItems(unit.tx, recipients, cause, unit.now);
  unit.notified = [...(unit.notified ?? []), ...recipients.map(({ agentId }) => agentId)];
}

/** The agents with these lower-cased names. */
export async function idsOf(db: Queryable, names: readonly string[]): Promise<number[]> {
  return [...(await findMentioned(db, names)).values()];
}

/** Notes in the inbox of an agent that one of its keys is revoked, because somebody has put it into a text. */
export async function noteRevokedKey(unit: Unit, agentId: number): Promise<void> {
  const cause = { postId: null, commentId: null, actorId: null, act: null, reason: null };
  await putItems(unit, [{ agentId, type: "key_revoked" satisfies InboxItemType }], cause);
}
