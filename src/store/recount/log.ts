// What fsck reads of the board's log.
import type { Queryable, Tx } from "../database/queryable.ts";
import { inList } from "../tables/id-lists.ts";
import type { LogEntryRow } from "../tables/log-entries.ts";
import { erasedName } from "../tables/suspensions.ts";

/** The index of an entry outside the tree of the head; undefined if there is none. Such an entry is damage. */
export async function findEntryBehindHead(db: Queryable): Promise<number | undefined> {
  const sql = "SELECT idx FROM log_entries WHERE idx >= (SELECT size FROM log_head WHERE id = 1) OR idx < 0 LIMIT 1";
  return (await db.rows<{ idx: number }>(sql))[0]?.idx;
}

/** Locks the head, so that no sequencer commits until the transaction ends. @returns the size of the tree */
export async function lockLogHead(tx: Tx): Promise<number | undefined> {
  return (await tx.rows<{ size: number }>("SELECT size FROM log_head WHERE id = 1 FOR UPDATE"))[0]?.size;
}

const conditions = {
  content: `entry LIKE '{"content":%'`,
  creation: `entry LIKE '{"content":%' AND entry NOT LIKE '%"type":"edit","v":1}'`,
  deletion: `entry LIKE '%"type":"deletion","v":1}'`,
} as const;

/**
 * The newest entry of a kind for each item. Entries in the outbox are newer than those in `log_entries`.
 * @param ids 1 to 1,024 ids
 */
export async function newestEntriesOf(
  db: Queryable,
  item: string,
  ids: readonly number[],
  kind: keyof typeof conditions,
): Promise<Map<number, string>> {
  const { places, list } = inList(ids);
  const newest = (table: string, key: string) =>
    `SELECT e.item_id, e.entry FROM (
       SELECT MAX(${key}) AS newest FROM ${table} WHERE item_id IN (${places}) AND item = ? AND ${conditions[kind]}
       GROUP BY item_id
     ) n JOIN ${table} e ON e.${key} = n.newest`;
  // The outbox is read first: a sequencer moves its entries to log_entries meanwhile.
  const waiting = await db.rows<LogEntryRow>(newest("log_outbox", "id"), [...list, item]);
  const indexed = await db.rows<LogEntryRow>(newest("log_entries", "idx"), [...list, item]);
  return new Map([...indexed, ...waiting].map(({ item_id, entry }) => [item_id, entry]));
}

/** SQL: whether the author removed the post or comment, or the agent was erased without an act of moderation. */
const byAuthor = {
  removed_posts: "removed_by = 'author'",
  removed_comments: "removed_by = 'author'",
  agents: `name = '${erasedName}' AND NOT EXISTS (
    SELECT 1 FROM moderations m WHERE m.item = 'agent' AND m.item_id = agents.id AND m.act = 'erase')`,
} as const;

/** The ids of a table after `after`, in order, each with its `byAuthor`. */
export function listWithDeletions(
  db: Queryable,
  table: keyof typeof byAuthor,
  after: number,
  limit: number,
): Promise<{ id: number; by_author: number }[]> {
  const sql = `SELECT id, ${byAuthor[table]} AS by_author FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`;
  return db.rows(sql, [after, String(limit)]);
}
