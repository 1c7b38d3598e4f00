import { isDuplicate } from "../database/database-errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { hasLostTime, isDamagedReply, keyLifetimeMs, replyCheck } from "./reply-check.ts";

/** The stored response of a call, for repeats of the call. Times are milliseconds since 1970 (UTC). */
export interface StoredResponse {
  fingerprint: Buffer;
  /** Null once it is erased. */
  reply: Buffer | null;
  /** Whether it holds an API key and is therefore encrypted. */
  sealed: boolean;
  created_at: number;
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
  /** When the row is next looked at. */
  dueAt: number;
}

/**
 * Inserts the row of a call; false when there is one. It waits for a transaction that inserts the same id, until that one
 * commits or rolls back.
 */
export async function insertReply(tx: Tx, { id, fingerprint, sealed, createdAt, dueAt }: NewReply): Promise<boolean> {
  try {
    await tx.run(
      "INSERT INTO idempotency_replies (id, fingerprint, sealed, created_at, due_at) VALUES (?, ?, ?, ?, ?)",
      [id, fingerprint, Number(sealed), createdAt, dueAt],
    );
    return true;
  } catch (error) {
    if (isDuplicate(error, "PRIMARY")) return false;
    throw error;
  }
}

/** The post or comment whose text a stored reply shows. */
export interface ReplyItem {
  item: "post" | "comment";
  itemId: number;
}

/** Stores the reply of a row that this transaction has inserted or renewed. */
export async function putReply(
  tx: Tx,
  row: Omit<NewReply, "dueAt">,
  reply: Buffer,
  about: ReplyItem | undefined,
): Promise<void> {
  await tx.run("UPDATE idempotency_replies SET reply = ?, reply_check = ?, item = ?, item_id = ? WHERE id = ?", [
    reply,
    replyCheck({ ...row, reply }),
    about?.item ?? null,
    about?.itemId ?? null,
    row.id,
  ]);
}

/** Takes over the row of an older call. It locks the row. */
export async function renewReply(tx: Tx, { id, fingerprint, sealed, createdAt, dueAt }: NewReply): Promise<void> {
  await tx.run(
    `UPDATE idempotency_replies
     SET fingerprint = ?, reply = NULL, reply_check = NULL, sealed = ?, created_at = ?, due_at = ? WHERE id = ?`,
    [fingerprint, Number(sealed), createdAt, dueAt, id],
  );
}

interface Row {
  fingerprint: Buffer;
  reply: Buffer | null;
  sealed: number;
  created_at: number;
  reply_check: Buffer | null;
}

/**
 * The stored replies that may show a post or comment, locked: those that say so, and those with the time of its creation.
 * Older versions do not say what a reply shows, and leave what the row said before.
 * @param createdAt when the post or comment was created, in milliseconds since 1970 (UTC)
 */
export async function lockRepliesAbout(
  tx: Tx,
  { item, itemId }: ReplyItem,
  createdAt: number,
): Promise<{ id: Buffer; fingerprint: Buffer; reply: Buffer; created_at: number }[]> {
  return tx.rows(
    `SELECT id, fingerprint, reply, created_at FROM idempotency_replies WHERE id IN (
       SELECT id FROM (
         SELECT id FROM idempotency_replies WHERE item_id = ? AND item = ?
         UNION ALL SELECT id FROM idempotency_replies WHERE due_at = ?
       ) about
     ) AND sealed = 0 AND reply IS NOT NULL FOR UPDATE`,
    [itemId, item, createdAt + keyLifetimeMs],
  );
}

/** Finds the stored response under the id of a key. */
export async function findReply(db: Queryable, id: Buffer): Promise<StoredResponse | undefined> {
  const sql = "SELECT fingerprint, reply, sealed, created_at, reply_check FROM idempotency_replies WHERE id = ?";
  const [row] = await db.rows<Row>(sql, [id]);
  if (row === undefined) return undefined;
  const { fingerprint, reply, sealed, created_at, reply_check } = row;
  const damaged = isDamagedReply({ ...row, id });
  const lostTime = hasLostTime(created_at, reply_check);
  return { fingerprint, reply, sealed: sealed === 1, created_at, damaged, lostTime };
}

/** Erases a reply. The row stays for `lifetimeMs` after its creation, so that a repeat differs from a new call. */
export async function eraseReply(tx: Tx, id: Buffer, lifetimeMs: number): Promise<void> {
  await tx.run("UPDATE idempotency_replies SET reply = NULL, due_at = created_at + ? WHERE id = ?", [lifetimeMs, id]);
}

/**
 * Erases up to `limit` encrypted replies that are due although they were made after `aliveSince`. Other replies are kept as
 * long as their rows, even if a wrong due_at says that they are due.
 * @returns how many
 */
export async function eraseDueReplies(
  tx: Tx,
  { now, aliveSince, lifetimeMs, limit }: { now: number; aliveSince: number; lifetimeMs: number; limit: number },
): Promise<number> {
  const { affectedRows } = await tx.run(
    `UPDATE idempotency_replies SET reply = NULL, due_at = created_at + ? WHERE due_at <= ? AND created_at > ?
     AND sealed = 1 ORDER BY due_at LIMIT ?`,
    [lifetimeMs, now, aliveSince, String(limit)],
  );
  return affectedRows;
}

/** Deletes up to `limit` rows that are due and were made at `aliveSince` or before. @returns how many */
export async function deleteDueReplies(
  tx: Tx,
  { now, aliveSince, limit }: { now: number; aliveSince: number; limit: number },
): Promise<number> {
  const { affectedRows } = await tx.run(
    "DELETE FROM idempotency_replies WHERE due_at <= ? AND created_at <= ? ORDER BY due_at LIMIT ?",
    [now, aliveSince, String(limit)],
  );
  return affectedRows;
}
