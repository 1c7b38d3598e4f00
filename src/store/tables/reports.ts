import { isDuplicate } from "../database/database-errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { moderatedBy } from "./moderators.ts";

/** A report about a post or comment, with the names it shows. */
export interface ReportRow {
  id: number;
  item: string;
  item_id: number;
  post_id: number;
  community: string;
  agent: string;
  reason: string;
  note: string;
  /** In milliseconds since 1970 (UTC). */
  created_at: number;
}

export interface NewReport {
  item: "post" | "comment";
  itemId: number;
  postId: number;
  communityId: number;
  agentId: number;
  reason: string;
  note: string;
  createdAt: number;
}

const selectReport = `SELECT r.id, r.item, r.item_id, r.post_id, c.name AS community, a.name AS agent, r.reason, r.note,
    r.created_at
  FROM reports r JOIN communities c ON c.id = r.community_id JOIN agents a ON a.id = r.agent_id`;

/** Inserts a report. False when the agent has reported the same thing before. */
export async function insertReport(tx: Tx, report: NewReport): Promise<boolean> {
  try {
    await tx.run(
      `INSERT INTO reports (item, item_id, post_id, community_id, agent_id, reason, note, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        report.item,
        report.itemId,
        report.postId,
        report.communityId,
        report.agentId,
        report.reason,
        report.note,
        report.createdAt,
      ],
    );
    return true;
  } catch (error) {
    if (isDuplicate(error, "reports_once")) return false;
    throw error;
  }
}

/** What an agent has reported about a post or comment. */
export async function findReportBy(
  db: Queryable,
  item: string,
  itemId: number,
  agentId: number,
): Promise<ReportRow | undefined> {
  const sql = `${selectReport} WHERE r.item = ? AND r.item_id = ? AND r.agent_id = ?`;
  return (await db.rows<ReportRow>(sql, [item, itemId, agentId]))[0];
}

export async function findReport(db: Queryable, id: number): Promise<(ReportRow & { is_open: number }) | undefined> {
  const sql = selectReport.replace("r.created_at", "r.created_at, r.is_open");
  return (await db.rows<ReportRow & { is_open: number }>(`${sql} WHERE r.id = ?`, [id]))[0];
}

/** The open reports after the report `after`, oldest first. @param moderatorId only from communities that this agent moderates */
export function listOpenReports(
  db: Queryable,
  after: number,
  limit: number,
  moderatorId?: number,
): Promise<ReportRow[]> {
  if (moderatorId === undefined) {
    const sql = `${selectReport} WHERE r.is_open = 1 AND r.id > ? ORDER BY r.id LIMIT ?`;
    return db.rows<ReportRow>(sql, [after, String(limit)]);
  }
  const sql = `${selectReport} JOIN (${moderatedBy}) m ON m.community_id = r.community_id
    WHERE r.is_open = 1 AND r.id > ? ORDER BY r.id LIMIT ?`;
  return db.rows<ReportRow>(sql, [moderatorId, moderatorId, after, String(limit)]);
}

/** Closes a report. False when it is closed or does not exist. */
export async function closeReport(tx: Tx, id: number, now: number): Promise<boolean> {
  const sql = "UPDATE reports SET is_open = 0, closed_at = ? WHERE id = ? AND is_open = 1";
  return (await tx.run(sql, [now, id])).affectedRows === 1;
}

/** Closes all open reports about a post or comment. */
export async function closeReportsAbout(tx: Tx, item: string, itemId: number, now: number): Promise<void> {
  const sql = "UPDATE reports SET is_open = 0, closed_at = ? WHERE item = ? AND item_id = ? AND is_open = 1";
  await tx.run(sql, [now, item, itemId]);
}
