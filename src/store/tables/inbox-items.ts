import type { Queryable } from "../database/queryable.ts";
import { inList } from "./id-lists.ts";

/** How much of a text is read, in characters. An excerpt uses less. */
const textLength = 600;

/** An item as its agent sees it. Words are those of the contract in lower case. */
export interface InboxItemRow {
  id: number;
  type: string;
  /** Null if it is about no post. */
  post_id: number | null;
  comment_id: number | null;
  /** The name of who wrote; null for acts of moderation, and if it is about no post. */
  actor: string | null;
  /** Null if it is about no post. */
  community: string | null;
  /** The beginning of the text; null if it does not stand. */
  body: string | null;
  act: string | null;
  reason: string | null;
  created_at: number;
  /** 1 if the item is marked as read. */
  is_read: number;
  /** 1 if the agent has subscriptions. */
  follows: number;
}

/**
 * The page of ids comes first, as for feeds. Sorting rows with texts would take a temporary table. The index of inboxes is
 * named, because MariaDB may take a new table for nearly empty, and then reads all of it for each page.
 */
const select = (
  page: string,
) => `SELECT STRAIGHT_JOIN page.id, page.type, page.post_id, page.comment_id, a.name AS actor,
    COALESCE(c.name, d.name) AS community,
    IF(page.comment_id IS NULL, COALESCE(NULLIF(LEFT(p.body, ${textLength}), ''), p.title), LEFT(k.body, ${textLength})) AS body,
    page.act, page.reason, page.created_at, page.id <= b.read_up_to AS is_read,
    EXISTS (SELECT 1 FROM subscriptions s WHERE s.agent_id = page.agent_id) AS follows
  FROM (${page}) page
  JOIN inboxes b FORCE INDEX (PRIMARY) ON b.agent_id = page.agent_id
  LEFT JOIN posts p ON p.id = page.post_id LEFT JOIN communities c ON c.id = p.community_id
  LEFT JOIN removed_posts r ON p.id IS NULL AND r.id = page.post_id LEFT JOIN communities d ON d.id = r.community_id
  LEFT JOIN comments k ON k.id = page.comment_id
  LEFT JOIN agents a ON a.id = page.actor_id`;

const columns = "agent_id, id, type, post_id, comment_id, actor_id, act, reason, created_at";
const pageOf = (unread: string) => `SELECT ${columns} FROM inbox_items FORCE INDEX (PRIMARY)
  WHERE agent_id = ? AND id < ? ${unread} ORDER BY id DESC LIMIT ?`;
const listAll = select(pageOf(""));
const listUnread = select(pageOf("AND id > (SELECT read_up_to FROM inboxes WHERE agent_id = ?)"));
const listFrom = select(`SELECT ${columns} FROM inbox_items FORCE INDEX (PRIMARY)
  WHERE agent_id = ? AND id >= ? AND id <= ? ORDER BY id LIMIT ?`);

/** The items of an inbox below the id `before`, newest first. */
export async function listItems(
  db: Queryable,
  agentId: number,
  { before, unread, limit }: { before: number; unread: boolean; limit: number },
): Promise<InboxItemRow[]> {
  const params = [agentId, before, ...(unread ? [agentId] : []), String(limit)];
  return (await db.rows<InboxItemRow>(unread ? listUnread : listAll, params)).sort((a, b) => b.id - a.id);
}

/** The items of an inbox with the ids from `from` to `to`, oldest first. */
export async function listItemsFrom(
  db: Queryable,
  agentId: number,
  { from, to, limit }: { from: number; to: number; limit: number },
): Promise<InboxItemRow[]> {
  const rows = await db.rows<InboxItemRow>(listFrom, [agentId, from, to, String(limit)]);
  return rows.sort((a, b) => a.id - b.id);
}

/** How many agents one statement reads. */
const agentsAtOnce = 128;

/** The ids of the newest items of agents. An agent whose inbox is empty is left out. */
export async function readNewestItems(db: Queryable, agentIds: readonly number[]): Promise<Map<number, number>> {
  const newest = new Map<number, number>();
  for (let at = 0; at < agentIds.length; at += agentsAtOnce) {
    const { places, list } = inList(agentIds.slice(at, at + agentsAtOnce), [1, 16, agentsAtOnce]);
    const sql = `SELECT agent_id, newest FROM inboxes FORCE INDEX (PRIMARY) WHERE agent_id IN (${places})`;
    for (const row of await db.rows<{ agent_id: number; newest: number }>(sql, list))
      newest.set(row.agent_id, row.newest);
  }
  return newest;
}
