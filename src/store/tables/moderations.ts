import { StoredDamage } from "../../errors.ts";
import { isDuplicate } from "../database/database-errors.ts";
import type { Param, Queryable, Tx } from "../database/queryable.ts";
import { isCount } from "./one-row.ts";
import { erasedName } from "./suspensions.ts";

/** An act in the public record. Words are those of the contract in lower case: `remove`, `moderator`, `post`, `spam`. */
export interface ModerationRow {
  id: number;
  role: string;
  act: string;
  item: string;
  item_id: number;
  reason: string | null;
  /** In milliseconds since 1970 (UTC). */
  created_at: number;
}

const columns = "id, role, act, item, item_id, reason, created_at";

/**
 * Appends an act. It locks the head of the record until the transaction ends: so ids follow the order of the commits, without
 * gaps.
 * @param note a remark that can be erased; empty for none
 * @param isNoted whether an item about it is in an inbox
 * @param actorId the moderator; null for the operator
 * @throws StoredDamage where the head of the record is missing or damaged
 */
export async function appendModeration(
  tx: Tx,
  row: Omit<ModerationRow, "id">,
  { note, isNoted, actorId }: { note: string; isNoted: boolean; actorId: number | null },
): Promise<void> {
  const id = (await lockModerationHead(tx)).newest + 1;
  await tx.run("UPDATE moderation_head SET newest = ? WHERE id = 1", [id]);
  const values = [id, row.role, row.act, row.item, row.item_id, row.reason, row.created_at, isNoted ? 1 : 0];
  try {
    await tx.run(`INSERT INTO moderations (${columns}, noted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, values);
  } catch (error) {
    throw isDuplicate(error, "PRIMARY") ? headDamage("names an act that is not the newest", error) : error;
  }
  if (actorId !== null) {
    // A moderator that was erased meanwhile is not named: the erasure has looked for its acts already.
    const sql = `INSERT INTO moderation_actors (moderation_id, agent_id) SELECT ?, id FROM agents WHERE id = ? AND name <> ?`;
    await tx.run(sql, [id, actorId, erasedName]);
  }
  if (note !== "") await tx.run("INSERT INTO moderation_notes (moderation_id, note) VALUES (?, ?)", [id, note]);
}

/** The newest act of the record, and up to which act daily receipts have sealed it. */
interface ModerationHead {
  newest: number;
  sealed: number;
}

const selectHead = "SELECT newest, sealed FROM moderation_head WHERE id = 1";

/** @throws StoredDamage where the head is missing or damaged */
export async function readModerationHead(db: Queryable): Promise<ModerationHead> {
  return sound(await db.rows<ModerationHead>(selectHead));
}

/** Locks the head of the record: no act commits until the transaction ends. @throws StoredDamage as `readModerationHead` */
export async function lockModerationHead(tx: Tx): Promise<ModerationHead> {
  return sound(await tx.rows<ModerationHead>(`${selectHead} FOR UPDATE`));
}

function sound([row]: readonly ModerationHead[]): ModerationHead {
  if (row === undefined) throw headDamage("is missing");
  if (!isCount(row.newest) || !isCount(row.sealed) || row.sealed > row.newest) throw headDamage("is damaged");
  return row;
}

function headDamage(what: string, cause?: unknown): StoredDamage {
  return new StoredDamage(`The row of moderation_head ${what}; run stoa fsck, and restore it from a backup.`, cause);
}

/** Stores up to which act the record is sealed. The head must be locked. */
export async function putSealedModerations(tx: Tx, sealed: number): Promise<void> {
  await tx.run("UPDATE moderation_head SET sealed = ? WHERE id = 1", [sealed]);
}

/** Acts after the act `after` up to `through`, in order. */
export function listModerationsAfter(
  db: Queryable,
  after: number,
  through: number,
  limit: number,
): Promise<ModerationRow[]> {
  return db.rows<ModerationRow>(`SELECT ${columns} FROM moderations WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, [
    after,
    through,
    String(limit),
  ]);
}

/** Which acts to list. Absent members do not restrict them. */
export interface ModerationFilter {
  act?: string | undefined;
  role?: string | undefined;
  reason?: string | undefined;
  item?: string | undefined;
  itemId?: number | undefined;
  /** The moderator. */
  actorId?: number | undefined;
}

/** Where the acts of each filter are in order: a table, and its index. The first filter that is given is walked. */
const places = {
  agent_id: { table: "moderation_actors", index: "moderation_actors_agent", id: "moderation_id" },
  item_id: { table: "moderations", index: "moderations_item", id: "id" },
  reason: { table: "moderations", index: "moderations_reason", id: "id" },
  act: { table: "moderations", index: "moderations_act", id: "id" },
  item: { table: "moderations", index: "moderations_kind", id: "id" },
  role: { table: "moderations", index: "moderations_role", id: "id" },
};
type Column = keyof typeof places;
const itemWords = ["post", "comment", "agent", "community", "report"];
/** How many acts are looked through for a page at most. */
const maxExamined = 5_000;

/** A page of acts, and before which act the next page begins; undefined if there is none. */
export interface ModerationPage {
  rows: ModerationRow[];
  next: number | undefined;
}

/**
 * Up to `limit` acts before the act `before`, newest first. With several filters, or one of an item, it looks through
 * `maxExamined` acts at most. So the page may have fewer acts than `limit`, or none, although there is a next one.
 */
export async function listModerations(
  db: Queryable,
  { act, role, reason, item, itemId, actorId }: ModerationFilter,
  before: number,
  limit: number,
): Promise<ModerationPage> {
  const given: Record<Column, Param | undefined> = { agent_id: actorId, item_id: itemId, reason, act, item, role };
  const used = Object.entries(given).filter((each): each is [Column, Param] => each[1] !== undefined);
  const [walked] = used;
  const end = walked && (used.length > 1 || itemId !== undefined) ? await endOfWalk(db, walked, item, before) : 0;
  const { table, index, id } = walked ? places[walked[0]] : { table: "moderations", index: "PRIMARY", id: "id" };
  const conditions = [`w.${id} < ?`, `w.${id} >= ?`, ...used.map(([column]) => `${column} = ?`)].join(" AND ");
  const others = table === "moderations" ? "" : `STRAIGHT_JOIN moderations m ON m.id = w.${id}`;
  const rows = await db.rows<ModerationRow>(
    `SELECT ${columns} FROM ${table} w FORCE INDEX (${index}) ${others} WHERE ${conditions} ORDER BY w.${id} DESC LIMIT ?`,
    [before, end, ...used.map(([, value]) => value), String(limit + 1)],
  );
  const page = rows.slice(0, limit);
  return { rows: page, next: rows.length > limit ? page.at(-1)?.id : end || undefined };
}

/** The last of `maxExamined` acts of a filter before the act `before`; 0 if there are fewer. It reads an index alone. */
async function endOfWalk(
  db: Queryable,
  [column, value]: [Column, Param],
  item: string | undefined,
  before: number,
): Promise<number> {
  const { table, index, id } = places[column];
  // In the index of an item's acts, the ids are in order only within each kind of item.
  const kinds = column !== "item_id" ? [] : item === undefined ? itemWords : [item];
  const walk = (more: string) => `(SELECT ${id} AS id FROM ${table} FORCE INDEX (${index})
      WHERE ${column} = ? ${more} AND ${id} < ? ORDER BY ${id} DESC LIMIT ${maxExamined})`;
  const walks = kinds.length === 0 ? [walk("")] : kinds.map(() => walk("AND item = ?"));
  const values = kinds.length === 0 ? [value, before] : kinds.flatMap((kind) => [value, kind, before]);
  const sql = `SELECT id FROM (${walks.join(" UNION ALL ")}) walked ORDER BY id DESC LIMIT 1 OFFSET ${maxExamined - 1}`;
  return (await db.rows<{ id: number }>(sql, values))[0]?.id ?? 0;
}

/** Erases of up to `limit` acts that an agent did them. @returns how many */
export async function eraseActor(tx: Tx, agentId: number, limit: number): Promise<number> {
  const sql = "DELETE FROM moderation_actors WHERE agent_id = ? ORDER BY moderation_id LIMIT ?";
  return (await tx.run(sql, [agentId, String(limit)])).affectedRows;
}
