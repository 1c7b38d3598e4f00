import type { Queryable, Tx } from "../database/queryable.ts";
import { inList, inPowersOfTwo } from "./id-lists.ts";
import type { SubscriptionKind } from "./subscriptions.ts";
import { newestFirst, type TimePosition } from "./time-order.ts";

/*
 * What is new in what agents follow is looked for when they read. Every list is read from an index that is in the order of
 * time, and begins with the newest. Each index is named, so that statistics cannot change the plan.
 */

/** Where the news of each kind of subscription are. */
const sources = {
  communities: { table: "posts", index: "posts_community_new", column: "community_id" },
  threads: { table: "comments", index: "comments_time", column: "post_id" },
  agents: { table: "posts", index: "posts_author", column: "author_id" },
} as const satisfies Record<SubscriptionKind, object>;

// Without the first column in the order, MySQL sorts all rows of the target.
const newestIn = (kind: SubscriptionKind) => {
  const { table, index, column } = sources[kind];
  return `(SELECT w.created_at FROM ${table} w FORCE INDEX (${index}) WHERE w.${column} = s.target_id AND w.created_at <= ?
    ORDER BY w.${column} DESC, w.created_at DESC LIMIT 1)`;
};
/** Its parameters are the latest time of a clock that is right, five times, and the agents. */
const dueOf = (agents: string) => `SELECT s.agent_id, s.kind, s.target_id,
    IF(s.settled_at > ?, IF(s.created_at > ?, 0, s.created_at), s.settled_at) AS since,
    CASE s.kind WHEN 'communities' THEN ${newestIn("communities")} WHEN 'threads' THEN ${newestIn("threads")}
      ELSE ${newestIn("agents")} END AS newest
  FROM subscriptions s FORCE INDEX (PRIMARY) WHERE s.agent_id ${agents} HAVING newest >= since`;

/** A subscription whose target has something that may be new. */
export interface DueSubscription {
  kind: SubscriptionKind;
  target_id: number;
  /** When what may be new was created, at the earliest. */
  since: number;
  /** When the newest post or comment was created. */
  newest: number;
}

/**
 * The subscriptions of an agent whose targets have something that is not settled. It reads one row of each target.
 * @param latest what is later was dated by a wrong clock: posts and comments do not count then, nor what is settled
 */
export function listDue(db: Queryable, agentId: number, latest: number): Promise<DueSubscription[]> {
  return db.rows<DueSubscription>(dueOf("= ?"), [...Array(5).fill(latest), agentId]);
}

/** An agent some of whose subscriptions are due. */
export interface DueAgent {
  agent_id: number;
  /** Changes when something new is written. */
  mark: string | number;
  /** The least `newest` of its subscriptions that are due. */
  oldest: number;
}

/** The agents of a list of at most `maxListed` whose subscriptions are due. @param latest as for `listDue` */
export function listDueAgents(db: Queryable, agentIds: readonly number[], latest: number): Promise<DueAgent[]> {
  const { places, list } = inList(agentIds);
  return db.rows<DueAgent>(
    `SELECT d.agent_id, SUM(d.newest) AS mark, MIN(d.newest) AS oldest FROM (${dueOf(`IN (${places})`)}) d
     GROUP BY d.agent_id`,
    [...Array(5).fill(latest), ...list],
  );
}

/** A post or comment that may be new to somebody. */
export interface News {
  item: "post" | "comment";
  id: number;
  created_at: number;
}

/** Which of the posts or comments of a target to list. */
export interface NewsTarget {
  kind: SubscriptionKind;
  id: number;
  /** Only what was created at this time or later. */
  since: number;
}

/** How many targets one statement reads at most. */
const targetsAtOnce = 32;

/**
 * The newest posts and comments of these targets, before a position if there is one.
 * @returns at most `limit`, the newest first, none twice
 */
export async function listNewest(
  db: Queryable,
  targets: readonly NewsTarget[],
  limit: number,
  before: TimePosition = newestFirst.start,
): Promise<News[]> {
  const found = new Map<string, News>();
  for (const [kind, some] of Map.groupBy(targets, ({ kind }) => kind)) {
    const { table, index, column } = sources[kind];
    const item = table === "posts" ? "post" : "comment";
    const select = `(SELECT id, created_at FROM ${table} FORCE INDEX (${index})
      WHERE ${column} = ? AND created_at >= ? AND ${newestFirst.behind} ORDER BY ${newestFirst.orderBy} LIMIT ?)`;
    for (const part of inPowersOfTwo(some, targetsAtOnce)) {
      const sql = `SELECT id, created_at FROM (${part.map(() => select).join(" UNION ALL ")}) news
        ORDER BY ${newestFirst.orderBy} LIMIT ?`;
      const params = part.flatMap(({ id, since }) => [id, since, ...newestFirst.values(before), String(limit)]);
      for (const row of await db.rows<Omit<News, "item">>(sql, [...params, String(limit)])) {
        found.set(`${item} ${row.id}`, { item, ...row });
      }
    }
  }
  return [...found.values()].sort(newestFirst.compare).slice(0, limit);
}

/** A post or comment of somebody else that an inbox has no item about. */
export interface MissingItem {
  post_id: number;
  comment_id: number | null;
  author_id: number;
  created_at: number;
}

const missingOf = {
  post: ["posts", "w.id", "NULL"],
  comment: ["comments", "w.post_id", "w.id"],
} as const;

/** Those of the news that an agent has no item about and has not written, the oldest first. At most 1,024 news. */
export async function listMissing(db: Queryable, agentId: number, news: readonly News[]): Promise<MissingItem[]> {
  const found: MissingItem[] = [];
  for (const [item, some] of Map.groupBy(news, ({ item }) => item)) {
    const [table, postId, commentId] = missingOf[item];
    const { places, list } = inList(some.map(({ id }) => id));
    const rows = await db.rows<MissingItem>(
      `SELECT ${postId} AS post_id, ${commentId} AS comment_id, w.author_id, w.created_at
       FROM ${table} w FORCE INDEX (PRIMARY)
       WHERE w.id IN (${places}) AND w.author_id <> ? AND NOT EXISTS (
         SELECT 1 FROM inbox_items i FORCE INDEX (inbox_items_cause)
         WHERE i.post_id = ${postId} AND i.comment_id <=> ${commentId} AND i.agent_id = ? AND i.type <> 'moderation')`,
      [...list, agentId, agentId],
    );
    found.push(...rows);
  }
  return found.sort((a, b) => a.created_at - b.created_at || a.post_id - b.post_id);
}

const itemsAtOnce = 64;

/** Adds items to an inbox that is locked, in this order. @param now milliseconds since 1970 (UTC) */
export async function insertNews(tx: Tx, agentId: number, items: readonly MissingItem[], now: number): Promise<void> {
  const [inbox] = await tx.rows<{ newest: number }>("SELECT newest FROM inboxes WHERE agent_id = ?", [agentId]);
  let id = inbox?.newest ?? 0;
  for (const part of inPowersOfTwo(items, itemsAtOnce)) {
    const params = part.flatMap(({ post_id, comment_id, author_id }) => {
      id += 1;
      return [agentId, id, post_id, comment_id, author_id, now];
    });
    await tx.run(
      `INSERT INTO inbox_items (agent_id, id, type, post_id, comment_id, actor_id, created_at)
       VALUES ${part.map(() => "(?, ?, 'subscription', ?, ?, ?, ?)").join(", ")}`,
      params,
    );
  }
  await tx.run("UPDATE inboxes SET newest = ?, unread = unread + ? WHERE agent_id = ?", [id, items.length, agentId]);
}
