import { isDuplicate } from "../database/database-errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { type CheckedReply, hasLostTime, isDamagedReply, keyLifetimeMs, replyCheck } from "./reply-check.ts";

/** The stored response of a call, for repeats of the call. Times are milliseconds since 1970 (UTC). */
export interface StoredResponse {
  fingerprint: Buffer;
  /** Null once it is erased. */
  reply: Buffer | null;
  /** Whether it holds an API key and is therefore encrypted. */
  sealed: boolean;
  created_at: number;
  /** The attempt of the call that has committed; null if an older version made it. */
  attempt: Buffer | null;
  /** What the reply shows, if it is stored with its text. */
  item: "post" | "comment" | null;
  item_id: number | null;
  /** Whether the row differs from what was stored. */
  damaged: boolean;
  /** Whether the row was made later than `created_at` says. */
  lostTime: boolean;
}

export interface NewReply {
  /** The hash of the idempotency key and its owner. */
  id: Buffer;
  /** The hash of the call. */
  fingerprint: Buffer;
  sealed: boolean;
  createdAt: number;
  /** When a sweep looks at the row, in milliseconds since 1970 (UTC). */
  dueAt: number;
  /** A random name of the attempt that inserts the row. */
  attempt: Buffer;
}

/**
 * Inserts the row of a call; false when there is one. It waits for a transaction that inserts the same id, until that one
 * commits or rolls back.
 */
export async function insertReply(
  tx: Tx,
  { id, fingerprint, sealed, createdAt, dueAt, attempt }: NewReply,
): Promise<boolean> {
  try {
    await tx.run(
      "INSERT INTO idempotency_replies (id, fingerprint, sealed, created_at, due_at, attempt) VALUES (?, ?, ?, ?, ?, ?)",
      [id, fingerprint, Number(sealed), createdAt, dueAt, attempt],
    );
    return true;
  } catch (error) {
    if (isDuplicate(error, "PRIMARY")) return false;
    throw error;
  }
}

/** The post or comment whose text a stored reply holds. */
export interface ReplyItem {
  item: "post" | "comment";
  itemId: number;
}

/**
 * Stores the reply of a row that this transaction has inserted or renewed.
 * @param about undefined for a reply without the text of a post or comment
 */
export async function putReply(tx: Tx, row: CheckedReply, about: ReplyItem | undefined): Promise<void> {
  const sql = "UPDATE idempotency_replies SET reply = ?, reply_check = ?, item = ?, item_id = ? WHERE id = ?";
  await tx.run(sql, [row.reply, replyCheck(row), about?.item ?? null, about?.itemId ?? null, row.id]);
}

/** From when on replies are stored without the texts of posts and comments, in milliseconds since 1970 (UTC). */
export async function readOutlinesBegin(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ begin_at: number }>("SELECT begin_at FROM reply_outlines WHERE id = 1");
  return row?.begin_at ?? 0;
}

/** Takes over the row of an older call. It locks the row. */
export async function renewReply(
  tx: Tx,
  { id, fingerprint, sealed, createdAt, dueAt, attempt }: NewReply,
): Promise<void> {
  await tx.run(
    `UPDATE idempotency_replies SET fingerprint = ?, reply = NULL, reply_check = NULL, sealed = ?, created_at = ?, due_at = ?,
       attempt = ? WHERE id = ?`,
    [fingerprint, Number(sealed), createdAt, dueAt, attempt, id],
  );
}

/** Deletes the row that this transaction has inserted. */
export async function deleteReply(tx: Tx, id: Buffer): Promise<void> {
  await tx.run("DELETE FROM idempotency_replies WHERE id = ?", [id]);
}

interface Row extends Omit<StoredResponse, "sealed" | "damaged" | "lostTime"> {
  sealed: number;
  reply_check: Buffer | null;
}

/**
 * Erases up to `limit` replies that are stored with the text of a post or comment. Their rows still say what they showed. Only
 * older versions of Stoa store such replies, and this one in the hour after an upgrade from them. Rows live for a day, so it
 * passes over few that are erased.
 * @returns how many
 */
export async function eraseRepliesAbout(tx: Tx, { item, itemId }: ReplyItem, limit: number): Promise<number> {
  const { affectedRows } = await tx.run(
    `UPDATE idempotency_replies SET reply = NULL, reply_check = NULL
     WHERE item_id = ? AND item = ? AND sealed = 0 AND reply IS NOT NULL LIMIT ?`,
    [itemId, item, String(limit)],
  );
  return affectedRows;
}

/** Finds the stored response under the id of a key. */
export async function findReply(db: Queryable, id: Buffer): Promise<StoredResponse | undefined> {
  const sql = `SELECT fingerprint, reply, sealed, created_at, reply_check, attempt, item, item_id
    FROM idempotency_replies WHERE id = ?`;
  const [row] = await db.rows<Row>(sql, [id]);
  if (row === undefined) return undefined;
  const { reply_check, sealed, ...stored } = row;
  const damaged = isDamagedReply({ ...row, id });
  return { ...stored, sealed: sealed === 1, damaged, lostTime: hasLostTime(row.created_at, reply_check) };
}

/** Erases a reply. The row stays until its key is forgotten, so that a repeat differs from a new call. */
export async function eraseReply(tx: Tx, id: Buffer): Promise<void> {
  const sql = "UPDATE idempotency_replies SET reply = NULL, due_at = created_at + ? WHERE id = ?";
  await tx.run(sql, [keyLifetimeMs, id]);
}

/** How many rows one call of `sweepDue` looks at. */
export const sweptAtOnce = 200;
const inSwept = `id IN (${Array<string>(sweptAtOnce).fill("?").join(", ")}) AND due_at <= ?`;

/**
 * Handles the `sweptAtOnce` rows that are due first: those made at `aliveSince` or before are deleted. Of the others the
 * encrypted replies are erased, and all become due when their lifetime ends.
 * @returns how many rows were due
 */
export async function sweepDue(tx: Tx, { now, aliveSince, lifetimeMs }: SweepTimes): Promise<number> {
  const due = await tx.rows<{ id: Buffer }>(
    `SELECT id FROM idempotency_replies FORCE INDEX (idempotency_replies_due) WHERE due_at <= ?
     ORDER BY due_at LIMIT ${sweptAtOnce}`,
    [now],
  );
  const [first] = due;
  if (first === undefined) return 0;
  const ids = Array.from({ length: sweptAtOnce }, (_, n) => (due[n] ?? first).id);
  await tx.run(`DELETE FROM idempotency_replies WHERE ${inSwept} AND created_at <= ?`, [...ids, now, aliveSince]);
  await tx.run(
    `UPDATE idempotency_replies SET reply = IF(sealed = 1, NULL, reply), due_at = LEAST(created_at, ?) + ? WHERE ${inSwept}`,
    [now, lifetimeMs, ...ids, now],
  );
  return due.length;
}

/** Times in milliseconds since 1970 (UTC), and how long a row lives. */
interface SweepTimes {
  now: number;
  aliveSince: number;
  lifetimeMs: number;
}
