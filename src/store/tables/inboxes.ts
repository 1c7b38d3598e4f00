import type { Queryable, Tx } from "../database/queryable.ts";
import { inList } from "./id-lists.ts";

/*
 * An inbox is a row of `inboxes` and its items. Whatever changes the items locks the row first, so the ids of items follow
 * the order of commits, and `unread` is exact.
 */

/** The maximum number of agents whose inboxes one statement changes: two authors and ten mentions. */
const maxRecipients = 12;

/** Who gets an item, and of which type: a word of the contract in lower case. */
export interface Recipient {
  agentId: number;
  type: string;
}

/** What an item is about. */
export interface ItemCause {
  /** Null if it is about no post. */
  postId: number | null;
  /** Null for a post. */
  commentId: number | null;
  /** Who wrote; null for acts of moderation. */
  actorId: number | null;
  /** Null for other types than moderation. */
  act: string | null;
  reason: string | null;
}

/** Statements for each number of recipients. */
const addStatements = Array.from({ length: maxRecipients + 1 }, (_, size) => {
  const each = (text: string, separator: string) => Array<string>(size).fill(text).join(separator);
  return {
    count: `INSERT INTO inboxes (agent_id, newest, read_up_to, unread) VALUES ${each("(?, 1, 0, 1)", ", ")}
      ON DUPLICATE KEY UPDATE newest = newest + (closed = 0), unread = unread + (closed = 0)`,
    insert: `INSERT INTO inbox_items (agent_id, id, type, post_id, comment_id, actor_id, act, reason, created_at)
      SELECT agent_id, newest, CASE agent_id ${each("WHEN ? THEN ?", " ")} END, ?, ?, ?, ?, ?, ?
      FROM inboxes FORCE INDEX (PRIMARY) WHERE agent_id IN (${each("?", ", ")}) AND closed = 0`,
  };
});

/**
 * Puts an item into the inbox of each recipient. Agents that are erased get none.
 * @param recipients 1 to `maxRecipients`, in the order of their ids, none twice
 * @param createdAt in milliseconds since 1970 (UTC)
 */
export async function insertItems(
  tx: Tx,
  recipients: readonly Recipient[],
  { postId, commentId, actorId, act, reason }: ItemCause,
  createdAt: number,
): Promise<void> {
  const statements = addStatements[recipients.length];
  if (statements === undefined) throw new Error(`${recipients.length} agents cannot get an item at once.`);
  const ids = recipients.map(({ agentId }) => agentId);
  const types = recipients.flatMap(({ agentId, type }) => [agentId, type]);
  await tx.run(statements.count, ids);
  await tx.run(statements.insert, [...types, postId, commentId, actorId, act, reason, createdAt, ...ids]);
}

/** An item of somebody's inbox. */
export interface ItemKey {
  agent_id: number;
  id: number;
}

/** The types of items that are written with their post or comment. Of other types, one text may have many items. */
export const wordTypes = "('post_comment', 'comment_reply', 'mention')";

/** The items about a post or comment that were written with it, in the order of the agents: at most `maxRecipients`. */
export function listItemsAbout(
  db: Queryable,
  { postId, commentId }: Pick<ItemCause, "postId" | "commentId">,
): Promise<(ItemKey & { type: string })[]> {
  return db.rows(
    `SELECT agent_id, id, type FROM inbox_items FORCE INDEX (inbox_items_typed)
     WHERE post_id = ? AND comment_id <=> ? AND type IN ${wordTypes} ORDER BY agent_id, id`,
    [postId, commentId],
  );
}

/** The items about a post or comment that subscriptions have brought to these agents, who are at most `maxRecipients`. */
export async function listBrought(
  db: Queryable,
  { postId, commentId }: Pick<ItemCause, "postId" | "commentId">,
  agentIds: readonly number[],
): Promise<ItemKey[]> {
  if (agentIds.length === 0) return [];
  const { places, list } = inList(agentIds, [maxRecipients]);
  return db.rows<ItemKey>(
    `SELECT agent_id, id FROM inbox_items FORCE INDEX (inbox_items_cause)
     WHERE post_id = ? AND comment_id <=> ? AND agent_id IN (${places}) AND type = 'subscription' ORDER BY agent_id, id`,
    [postId, commentId, ...list],
  );
}

/** Locks the inboxes of agents, in the order of their ids. Agents without an inbox are left out. */
export async function lockInboxes(tx: Tx, agentIds: Iterable<number>): Promise<void> {
  const ids = [...new Set(agentIds)].sort((a, b) => a - b);
  for (let at = 0; at < ids.length; at += maxRecipients) {
    const { places, list } = inList(ids.slice(at, at + maxRecipients), [maxRecipients]);
    await tx.rows(
      `SELECT agent_id FROM inboxes FORCE INDEX (PRIMARY) WHERE agent_id IN (${places}) ORDER BY agent_id FOR UPDATE`,
      list,
    );
  }
}

/** Deletes an item from an inbox that is locked, if it is still there. */
export async function deleteItem(tx: Tx, { agent_id, id }: ItemKey): Promise<void> {
  const { affectedRows } = await tx.run("DELETE FROM inbox_items WHERE agent_id = ? AND id = ?", [agent_id, id]);
  if (affectedRows === 0) return;
  await tx.run("UPDATE inboxes SET unread = unread - 1 WHERE agent_id = ? AND read_up_to < ?", [agent_id, id]);
}

/** How an inbox stands. */
export interface InboxState {
  newest: number;
  read_up_to: number;
  unread: number;
}

/** Locks an inbox. Undefined if the agent has none. */
export async function lockInbox(tx: Tx, agentId: number): Promise<InboxState | undefined> {
  const sql = "SELECT newest, read_up_to, unread FROM inboxes WHERE agent_id = ? FOR UPDATE";
  return (await tx.rows<InboxState>(sql, [agentId]))[0];
}

/** Makes an inbox for an agent that has none, and locks it. @returns false if the agent is erased */
export async function openInbox(tx: Tx, agentId: number): Promise<boolean> {
  // It also locks a row that is there.
  await tx.run(
    `INSERT INTO inboxes (agent_id, newest, read_up_to, unread) VALUES (?, 0, 0, 0)
     ON DUPLICATE KEY UPDATE newest = newest`,
    [agentId],
  );
  return (await tx.rows("SELECT 1 FROM inboxes WHERE agent_id = ? AND closed = 0", [agentId])).length > 0;
}

/**
 * Changes an inbox that is locked and changes it back. Servers of a cluster compare what transactions write, and not what they
 * lock: so a write of an agent does not take effect beside its erasure.
 */
export async function touchInbox(tx: Tx, agentId: number): Promise<void> {
  for (const change of ["+ 1", "- 1"])
    await tx.run(`UPDATE inboxes SET newest = newest ${change} WHERE agent_id = ?`, [agentId]);
}

/** How many items one call marks as read, unless it marks all: it counts them. */
export const maxMarked = 10_000;

/**
 * Stores up to where an inbox is read: up to the item `upTo`, or the next `maxMarked` items if more than these come before
 * it. The inbox must be locked.
 * @returns how many items are unread then
 */
export async function putReadUpTo(tx: Tx, agentId: number, state: InboxState, upTo: number): Promise<number> {
  const isAll = upTo === state.newest;
  const marked = isAll ? { items: state.unread, last: upTo } : await countItems(tx, agentId, state.read_up_to, upTo);
  const unread = state.unread - marked.items;
  const end = !isAll && marked.items === maxMarked ? marked.last : upTo;
  await tx.run("UPDATE inboxes SET read_up_to = ?, unread = ? WHERE agent_id = ?", [end, unread, agentId]);
  return unread;
}

/** Counts the first items with an id above `after`, up to `to`, at most `maxMarked`. It reads the index alone. */
async function countItems(
  db: Queryable,
  agentId: number,
  after: number,
  to: number,
): Promise<{ items: number; last: number }> {
  const sql = `SELECT COUNT(*) AS items, COALESCE(MAX(id), 0) AS last FROM (
      SELECT id FROM inbox_items FORCE INDEX (PRIMARY) WHERE agent_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ${maxMarked}
    ) marked`;
  return (await db.rows<{ items: number; last: number }>(sql, [agentId, after, to]))[0] ?? { items: 0, last: 0 };
}

/** Closes the inbox of an agent that is erased. Nothing comes into it any more. */
export async function closeInbox(tx: Tx, agentId: number): Promise<void> {
  await tx.run(
    `INSERT INTO inboxes (agent_id, newest, read_up_to, unread, closed) VALUES (?, 0, 0, 0, 1)
     ON DUPLICATE KEY UPDATE read_up_to = newest, unread = 0, closed = 1`,
    [agentId],
  );
}

/** Some inboxes that are closed and may have items. */
export async function listClosedInboxes(db: Queryable, limit: number): Promise<number[]> {
  const sql = "SELECT agent_id FROM inboxes FORCE INDEX (inboxes_closed) WHERE closed = 1 LIMIT ?";
  return (await db.rows<{ agent_id: number }>(sql, [String(limit)])).map(({ agent_id }) => agent_id);
}

/** Deletes up to `limit` items of a closed inbox that is locked, and notes when none is left. @returns how many */
export async function emptyInbox(tx: Tx, agentId: number, limit: number): Promise<number> {
  const sql = "DELETE FROM inbox_items WHERE agent_id = ? ORDER BY id LIMIT ?";
  const { affectedRows } = await tx.run(sql, [agentId, String(limit)]);
  if (affectedRows < limit) await tx.run("UPDATE inboxes SET closed = 2 WHERE agent_id = ?", [agentId]);
  return affectedRows;
}

/** The oldest items that came before a time, in milliseconds since 1970 (UTC). */
export function listOldItems(db: Queryable, before: number, limit: number): Promise<ItemKey[]> {
  return db.rows<ItemKey>(
    `SELECT agent_id, id FROM inbox_items FORCE INDEX (inbox_items_created) WHERE created_at < ?
     ORDER BY created_at LIMIT ?`,
    [before, String(limit)],
  );
}
