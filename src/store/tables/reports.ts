import type { Queryable, Tx } from "../database/queryable.ts";
import { insertOnce } from "./insert-once.ts";
import type { ReportedItem } from "./reported-texts.ts";
import { oldestFirst, type TimePosition } from "./time-order.ts";

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
  /** The version of the text that is reported, as in `ReportedVersion`. */
  version: number;
}

const columns = `r.id, r.item, r.item_id, r.post_id, c.name AS community, a.name AS agent, r.reason, r.note, r.created_at`;
const joinNames = "JOIN communities c ON c.id = r.community_id JOIN agents a ON a.id = r.agent_id";
const selectReport = `SELECT ${columns} FROM reports r ${joinNames}`;

/** Inserts a report. False when the agent has reported the same thing before. */
export async function insertReport(tx: Tx, report: NewReport): Promise<boolean> {
  const { item, itemId, postId, communityId, agentId, reason, note, createdAt, version } = report;
  const sql = `INSERT INTO reports (item, item_id, post_id, community_id, agent_id, reason, note, created_at, version)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const params = [item, itemId, postId, communityId, agentId, reason, note, createdAt, version];
  return (await insertOnce(tx, "reports_once", sql, params)) !== undefined;
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

export async function findReport(db: Queryable, id: number): Promise<ReportRow | undefined> {
  return (await db.rows<ReportRow>(`${selectReport} WHERE r.id = ?`, [id]))[0];
}

/** The reports that an agent made, open or closed, after the id `after`, in the order of their ids. */
export function listReportsBy(db: Queryable, agentId: number, after: number, limit: number): Promise<ReportRow[]> {
  const sql = `SELECT STRAIGHT_JOIN ${columns} FROM (
      SELECT id FROM reports FORCE INDEX (reports_agent) WHERE agent_id = ? AND id > ? ORDER BY id LIMIT ?
    ) page JOIN reports r ON r.id = page.id ${joinNames} ORDER BY r.id`;
  return db.rows<ReportRow>(sql, [agentId, after, String(limit)]);
}

/** As for comments, the ids of a page come first, from an index that is in order. */
const selectOpen = (reports: string) =>
  `SELECT STRAIGHT_JOIN ${columns} FROM (${reports} ORDER BY ${oldestFirst.orderBy} LIMIT ?) page
   JOIN reports r ON r.id = page.id ${joinNames}`;
const listAll = selectOpen(
  `SELECT id, created_at FROM reports FORCE INDEX (reports_oldest) WHERE is_open = 1 AND ${oldestFirst.behind}`,
);
/** How many communities one statement reads. */
const communitiesAtOnce = 20;
const listSome = selectOpen(
  Array<string>(communitiesAtOnce)
    .fill(
      `(SELECT id, created_at FROM reports FORCE INDEX (reports_in_community)
        WHERE community_id = ? AND is_open = 1 AND ${oldestFirst.behind} ORDER BY ${oldestFirst.orderBy} LIMIT ?)`,
    )
    .join(" UNION ALL "),
);

/**
 * The open reports after a position, oldest first. Reports of different posts are made at the same time, so a new one may come
 * before a position that a reader has passed. Only a list that is read from the start has it.
 * @param communityIds only from these communities. Of each it reads `limit` entries of an index
 */
export async function listOpenReports(
  db: Queryable,
  after: TimePosition | undefined,
  limit: number,
  communityIds?: readonly number[],
): Promise<ReportRow[]> {
  const page = [...oldestFirst.values(after ?? oldestFirst.start), String(limit)];
  if (communityIds === undefined) return (await db.rows<ReportRow>(listAll, page)).sort(oldestFirst.compare);
  const rows: ReportRow[] = [];
  for (let at = 0; at < communityIds.length; at += communitiesAtOnce) {
    // No community has the id 0.
    const ids = Array.from({ length: communitiesAtOnce }, (_, n) => communityIds[at + n] ?? 0);
    const values = [...ids.flatMap((id) => [id, ...page]), String(limit)];
    rows.push(...(await db.rows<ReportRow>(listSome, values)));
  }
  return rows.sort(oldestFirst.compare).slice(0, limit);
}

const anyOpen = "SELECT 1 FROM reports FORCE INDEX (reports_of_text) WHERE item = ? AND item_id = ? AND is_open = 1";

/** Whether there is an open report about a post or comment. */
export async function isReported(db: Queryable, { item, item_id }: ReportedItem): Promise<boolean> {
  return (await db.rows(`${anyOpen} LIMIT 1`, [item, item_id])).length > 0;
}

/**
 * Whether there is an open report about this version of the text.
 * @param except three reasons that do not count
 */
export async function isVersionReported(
  db: Queryable,
  { item, item_id }: ReportedItem,
  version: number,
  except?: readonly string[],
): Promise<boolean> {
  const more = except === undefined ? "" : "AND reason NOT IN (?, ?, ?)";
  const sql = `${anyOpen} AND version = ? ${more} LIMIT 1`;
  return (await db.rows(sql, [item, item_id, version, ...(except ?? [])])).length > 0;
}

/** Closes a report. False when it is closed or does not exist. */
export async function closeReport(tx: Tx, id: number, now: number): Promise<boolean> {
  const sql = "UPDATE reports SET is_open = 0, closed_at = ? WHERE id = ? AND is_open = 1";
  return (await tx.run(sql, [now, id])).affectedRows === 1;
}

/** Closes up to `limit` open reports about a post or comment. @returns how many */
export async function closeReportsAbout(
  tx: Tx,
  item: string,
  itemId: number,
  now: number,
  limit: number,
): Promise<number> {
  const sql = `UPDATE reports FORCE INDEX (reports_open_about) SET is_open = 0, closed_at = ?
    WHERE item = ? AND item_id = ? AND is_open = 1 LIMIT ?`;
  const { affectedRows } = await tx.run(sql, [now, item, itemId, String(limit)]);
  return affectedRows;
}

/**
 * Erases the notes of up to `limit` reports of an agent after the report `after`.
 * @returns the last of them; undefined if there is none
 */
export async function eraseNotesOfReporter(
  tx: Tx,
  agentId: number,
  after: number,
  limit: number,
): Promise<number | undefined> {
  const rows = await tx.rows<{ id: number }>(
    "SELECT id FROM reports FORCE INDEX (reports_agent) WHERE agent_id = ? AND id > ? ORDER BY id LIMIT ?",
    [agentId, after, String(limit)],
  );
  for (const { id } of rows) await tx.run("UPDATE reports SET note = '' WHERE id = ? AND note <> ''", [id]);
  return rows.at(-1)?.id;
}
