// What a check of the record of moderation reads.
import type { Queryable } from "../database/queryable.ts";

/** The head of the record, and the highest id at the same moment. Undefined if the head is missing. */
export async function readModerationHead(
  db: Queryable,
): Promise<{ newest: number; sealed: number; highest: number } | undefined> {
  const [row] = await db.rows<{ newest: number; sealed: number; highest: number | null }>(
    "SELECT newest, sealed, (SELECT MAX(id) FROM moderations) AS highest FROM moderation_head WHERE id = 1",
  );
  return row && { ...row, highest: row.highest ?? 0 };
}

/** The canonical bytes of daily receipts after receipt `after`, in order. */
export function listDailies(
  db: Queryable,
  after: number,
  limit: number,
): Promise<{ seq: number; canonical: Buffer }[]> {
  return db.rows(
    `SELECT r.seq, r.canonical FROM (SELECT seq FROM ledger_days WHERE seq > ? ORDER BY seq LIMIT ?) d
     JOIN receipts r ON r.seq = d.seq ORDER BY r.seq`,
    [after, String(limit)],
  );
}

/** A row of a table of moderation whose parent is missing. */
interface Orphan {
  table: string;
  id: number;
  parent: string;
  parent_id: number;
}

const links: readonly [table: string, key: string, column: string, parents: readonly string[]][] = [
  ["reports", "id", "agent_id", ["agents"]],
  ["reports", "id", "community_id", ["communities"]],
  ["reports", "id", "post_id", ["posts", "removed_posts"]],
  ["suspensions", "agent_id", "agent_id", ["agents"]],
  ["community_moderators", "agent_id", "agent_id", ["agents"]],
  ["community_moderators", "community_id", "community_id", ["communities"]],
  ["moderation_notes", "moderation_id", "moderation_id", ["moderations"]],
];

/** Rows of reports, suspensions, moderators and notes whose parent is missing: up to `limit` of each kind. */
export async function listModerationOrphans(db: Queryable, limit: number): Promise<Orphan[]> {
  const orphans: Orphan[] = [];
  for (const [table, key, column, parents] of links) {
    const missing = parents.map((parent) => `NOT EXISTS (SELECT 1 FROM ${parent} p WHERE p.id = t.${column})`);
    const rows = await db.rows<{ id: number; parent_id: number }>(
      `SELECT t.${key} AS id, t.${column} AS parent_id FROM ${table} t WHERE ${missing.join(" AND ")} LIMIT ?`,
      [String(limit)],
    );
    orphans.push(...rows.map((row) => ({ table, parent: parents[0] as string, ...row })));
  }
  return orphans;
}
