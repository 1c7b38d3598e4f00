import type { Queryable, Tx } from "../database/queryable.ts";
import { inList } from "./id-lists.ts";

/*
 * The texts that were reported, and that their authors have changed or deleted since. Every write of these rows locks the post
 * or comment first.
 */

/** A post or comment that was reported. */
export interface ReportedItem {
  item: "post" | "comment";
  item_id: number;
}

/** A version of its text. */
export interface ReportedVersion extends ReportedItem {
  /** When it was written, in milliseconds since 1970 (UTC); 0 before the first edit. */
  version: number;
  author_id: number;
  /** Empty for a comment. */
  title: string;
  body: string;
}

/** Keeps a version until `eraseAt`, in milliseconds since 1970 (UTC). */
export async function putReportedText(tx: Tx, text: ReportedVersion, eraseAt: number): Promise<void> {
  const { item, item_id, version, author_id, title, body } = text;
  // Replicas of a version before this one may give two texts the same time. The first one is kept.
  await tx.run(
    `INSERT INTO reported_texts (item_id, item, version, author_id, title, body, erase_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE erase_at = ?`,
    [item_id, item, version, author_id, title, body, eraseAt, eraseAt],
  );
}

/** How many versions of a post or comment are kept. */
export async function countReportedTexts(db: Queryable, { item, item_id }: ReportedItem): Promise<number> {
  const sql = "SELECT COUNT(*) AS n FROM reported_texts WHERE item_id = ? AND item = ?";
  return (await db.rows<{ n: number }>(sql, [item_id, item]))[0]?.n ?? 0;
}

/** Erases what is kept of a post or comment. @param by only what is kept until then, in milliseconds since 1970 (UTC) */
export async function deleteReportedTexts(
  tx: Tx,
  { item, item_id }: ReportedItem,
  by = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  await tx.run("DELETE FROM reported_texts WHERE item_id = ? AND item = ? AND erase_at <= ?", [item_id, item, by]);
}

/** Some of the posts and comments of which a version has been kept for its time. @param now milliseconds since 1970 (UTC) */
export function listExpiredTexts(db: Queryable, now: number, limit: number): Promise<ReportedItem[]> {
  return db.rows<ReportedItem>(
    "SELECT item, item_id FROM reported_texts WHERE erase_at <= ? ORDER BY erase_at LIMIT ?",
    [now, String(limit)],
  );
}

/** A post or comment of an agent of which a version is kept. */
export async function findReportedItemOf(db: Queryable, authorId: number): Promise<ReportedItem | undefined> {
  const sql = `SELECT item, item_id FROM reported_texts FORCE INDEX (reported_texts_author) WHERE author_id = ?
    ORDER BY item_id LIMIT 1`;
  return (await db.rows<ReportedItem>(sql, [authorId]))[0];
}

/** What is kept of a reported text, with the name it shows. */
export interface ReportedTextRow {
  report_id: number;
  author: string;
  title: string;
  body: string;
  erase_at: number;
}

/** The texts that were reported, where they are kept at the time `now`. @param reports the ids of 1 to 1,024 reports */
export function listReportedTexts(db: Queryable, reports: readonly number[], now: number): Promise<ReportedTextRow[]> {
  const { places, list } = inList(reports);
  return db.rows<ReportedTextRow>(
    `SELECT STRAIGHT_JOIN r.id AS report_id, a.name AS author, t.title, t.body, t.erase_at
     FROM reports r JOIN reported_texts t ON t.item_id = r.item_id AND t.item = r.item AND t.version = r.version
     JOIN agents a ON a.id = t.author_id WHERE r.id IN (${places}) AND t.erase_at > ?`,
    [...list, now],
  );
}
