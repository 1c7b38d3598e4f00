import type { Queryable, Tx } from "../database/queryable.ts";

/** A removal or an erasure that is not finished. */
export interface UnfinishedRemoval {
  /**
   * `author` is an agent that deletes itself with its words. Replicas of an older version take it for a removal with nothing
   * left to clean up. They do not delete the row, because it has a reason.
   */
  item: "post" | "comment" | "agent" | "author";
  /** For an author, the id of the agent. */
  item_id: number;
  /** When it began, in milliseconds since 1970 (UTC). */
  began_at: number;
  /** Why the posts and comments of an agent or author are removed; null if they stay, and for posts and comments. */
  reason: string | null;
  note: string;
}

/** Records one. If there is one already, it goes on, and removes the content of an agent if either asks for that. */
export async function putUnfinished(
  tx: Tx,
  { item, item_id, began_at, reason, note }: UnfinishedRemoval,
): Promise<void> {
  await tx.run(
    `INSERT INTO unfinished_removals (item, item_id, began_at, reason, note) VALUES (?, ?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE began_at = ?, note = IF(reason IS NULL, ?, note), reason = COALESCE(reason, ?)`,
    [item, item_id, began_at, reason, note, began_at, note, reason],
  );
}

/** Some of them, in the order of their keys, after the one with this key. */
export function listUnfinished(
  db: Queryable,
  after: Pick<UnfinishedRemoval, "item" | "item_id"> | undefined,
  limit: number,
): Promise<UnfinishedRemoval[]> {
  const { item, item_id } = after ?? { item: "", item_id: 0 };
  return db.rows<UnfinishedRemoval>(
    `SELECT item, item_id, began_at, reason, note FROM unfinished_removals
     WHERE item > ? OR (item = ? AND item_id > ?) ORDER BY item, item_id LIMIT ?`,
    [item, item, item_id, String(limit)],
  );
}

/** Locks one. False if there is none. */
export async function lockUnfinished(
  tx: Tx,
  { item, item_id }: Pick<UnfinishedRemoval, "item" | "item_id">,
): Promise<boolean> {
  const sql = "SELECT item_id FROM unfinished_removals WHERE item = ? AND item_id = ? FOR UPDATE";
  return (await tx.rows(sql, [item, item_id])).length > 0;
}

/** Records that one is finished, unless more was asked for meanwhile: that the content of the agent is removed, too. */
export async function deleteUnfinished(
  tx: Tx,
  { item, item_id, reason }: Pick<UnfinishedRemoval, "item" | "item_id" | "reason">,
): Promise<void> {
  const sql = "DELETE FROM unfinished_removals WHERE item = ? AND item_id = ? AND reason <=> ?";
  await tx.run(sql, [item, item_id, reason]);
}
