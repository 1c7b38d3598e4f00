import type { Queryable } from "../database/queryable.ts";
import { wordTypes } from "../tables/inboxes.ts";
import { limitRows, type TableCheck } from "./finding.ts";

/*
 * Finds items that are missing in inboxes. Items are deleted after 90 days, and older versions of Stoa wrote none. So only
 * texts and acts of the last 89 days are checked, and only if their column `noted` says that all items were written.
 */

const lookedAtMs = 89 * 86_400_000;
const isNoted = (words: string) => `${words}.noted = COALESCE(${words}.edited_at, 0) AND ${words}.created_at > ?`;
/** Inboxes of erased agents are closed, and emptied. */
const isOpen = (agent: string) => `NOT EXISTS (SELECT 1 FROM inboxes b WHERE b.agent_id = ${agent} AND b.closed > 0)`;

/** The parent comment's author gets a `comment_reply`; the post's author a `post_comment`, unless it is the same agent. */
const commentSql = `SELECT k.id, k.agent_id, k.type FROM (
    SELECT c.id, c.post_id, c.author_id, kinds.type, IF(kinds.type = 'comment_reply', COALESCE(x.author_id, y.author_id),
        NULLIF(COALESCE(p.author_id, r.author_id), COALESCE(x.author_id, y.author_id, 0))) AS agent_id
    FROM comments c FORCE INDEX (PRIMARY)
    JOIN (SELECT 'comment_reply' AS type UNION ALL SELECT 'post_comment') kinds
    LEFT JOIN posts p ON p.id = c.post_id LEFT JOIN removed_posts r ON r.id = c.post_id
    LEFT JOIN comments x ON x.id = c.parent_id LEFT JOIN removed_comments y ON y.id = c.parent_id
    WHERE c.id > ? AND c.id <= ? AND ${isNoted("c")}
  ) k
  WHERE k.agent_id <> k.author_id AND ${isOpen("k.agent_id")} AND NOT EXISTS (
    SELECT 1 FROM inbox_items t FORCE INDEX (inbox_items_cause)
    WHERE t.post_id = k.post_id AND t.comment_id = k.id AND t.agent_id = k.agent_id AND t.type = k.type)
  ORDER BY k.id ${limitRows}`;

/** Comments about which the author of the post or of the parent comment has no item. */
export const answerCheck: TableCheck = {
  table: "comments",
  key: "id",
  derived: [],
  async find(db, { after, to }, now) {
    const params = [after, to, now - lookedAtMs];
    const rows = await db.rows<{ id: number; agent_id: number; type: string }>(commentSql, params);
    return rows.map(({ id, agent_id, type }) => ({
      subject: "comments",
      key: { id, agent_id },
      problem: `no ${type} in the agent's inbox`,
    }));
  },
};

/** SQL: the author of the post or comment that was moderated. */
const moderatedAuthor = `CASE m.item WHEN 'post' THEN COALESCE(p.author_id, r.author_id) ELSE COALESCE(c.author_id, d.author_id) END`;
const actSql = `SELECT k.id, k.agent_id FROM (
    SELECT m.id, m.act, m.created_at, IF(m.item = 'post', m.item_id, COALESCE(c.post_id, d.post_id)) AS post_id,
      IF(m.item = 'post', NULL, m.item_id) AS comment_id, ${moderatedAuthor} AS agent_id
    FROM moderations m FORCE INDEX (PRIMARY)
    LEFT JOIN posts p ON m.item = 'post' AND p.id = m.item_id
    LEFT JOIN removed_posts r ON m.item = 'post' AND r.id = m.item_id
    LEFT JOIN comments c ON m.item = 'comment' AND c.id = m.item_id
    LEFT JOIN removed_comments d ON m.item = 'comment' AND d.id = m.item_id
    WHERE m.id > ? AND m.id <= ? AND m.noted = 1 AND m.created_at > ? AND m.item IN ('post', 'comment')
  ) k
  WHERE k.agent_id IS NOT NULL AND ${isOpen("k.agent_id")} AND NOT EXISTS (
    SELECT 1 FROM inbox_items t FORCE INDEX (inbox_items_typed)
    WHERE t.post_id = k.post_id AND t.comment_id <=> k.comment_id AND t.agent_id = k.agent_id AND t.type = 'moderation'
      AND t.act = k.act AND t.created_at = k.created_at)
  ORDER BY k.id ${limitRows}`;

/** Acts of moderation about which the author has no item. */
export const actCheck: TableCheck = {
  table: "moderations",
  key: "id",
  derived: [],
  async find(db, { after, to }, now) {
    const rows = await db.rows<{ id: number; agent_id: number }>(actSql, [after, to, now - lookedAtMs]);
    const problem = "no item in the author's inbox";
    return rows.map(({ id, agent_id }) => ({ subject: "moderations", key: { id, agent_id }, problem }));
  },
};

/** A text that may mention somebody, and the agents that have an item of `wordTypes` about it. */
export interface MentioningText {
  id: number;
  author_id: number;
  title: string;
  body: string;
  created_at: number;
  /** The ids of the agents, separated by commas; null for none. */
  notified: string | null;
}

const texts = {
  posts: { title: "w.title", cause: "t.post_id = w.id AND t.comment_id IS NULL" },
  comments: { title: "''", cause: "t.post_id = w.post_id AND t.comment_id = w.id" },
};

/** Texts that contain `@`, with ids above `after` up to `to`, in order. Each is read in one snapshot with its items. */
export function listMentioning(
  db: Queryable,
  table: "posts" | "comments",
  { after, to }: { after: number; to: number },
  now: number,
  limit: number,
): Promise<MentioningText[]> {
  const { title, cause } = texts[table];
  return db.rows<MentioningText>(
    `SELECT w.id, w.author_id, ${title} AS title, w.body, w.created_at,
       (SELECT GROUP_CONCAT(t.agent_id) FROM inbox_items t FORCE INDEX (inbox_items_typed)
        WHERE ${cause} AND t.type IN ${wordTypes}) AS notified
     FROM ${table} w FORCE INDEX (PRIMARY)
     WHERE w.id > ? AND w.id <= ? AND ${isNoted("w")} AND INSTR(CONCAT(${title}, w.body), '@') > 0
     ORDER BY w.id LIMIT ?`,
    [after, to, now - lookedAtMs, String(limit)],
  );
}

/** How long before `at` an agent must have registered, in milliseconds: clocks differ, and a registration takes time. */
const registeredMs = 600_000;

/** Which of these agents were certainly registered at the time `at`, in milliseconds since 1970 (UTC). */
export async function listRegistered(db: Queryable, agentIds: readonly number[], at: number): Promise<number[]> {
  const registered: number[] = [];
  for (const id of agentIds) {
    const rows = await db.rows("SELECT 1 FROM agents WHERE id = ? AND created_at < ?", [id, at - registeredMs]);
    if (rows.length > 0) registered.push(id);
  }
  return registered;
}

/** An act of moderation with the values of its item in the author's inbox. */
export interface NotedActRow {
  post_id: number;
  comment_id: number | null;
  act: string;
  reason: string | null;
  created_at: number;
}

export async function findNotedAct(db: Queryable, id: number): Promise<NotedActRow | undefined> {
  const rows = await db.rows<NotedActRow>(
    `SELECT IF(m.item = 'post', m.item_id, COALESCE(c.post_id, d.post_id)) AS post_id,
       IF(m.item = 'post', NULL, m.item_id) AS comment_id, m.act, m.reason, m.created_at
     FROM moderations m LEFT JOIN comments c ON m.item = 'comment' AND c.id = m.item_id
     LEFT JOIN removed_comments d ON m.item = 'comment' AND d.id = m.item_id WHERE m.id = ?`,
    [id],
  );
  return rows[0];
}
