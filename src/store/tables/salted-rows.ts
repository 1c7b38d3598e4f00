import type { Queryable, Tx } from "../database/queryable.ts";
import { inList, inPowersOfTwo } from "./id-lists.ts";
import type { Salt } from "./salts.ts";
import { erasedName } from "./suspensions.ts";

/** A row whose text the log commits to. The other columns are what it commits to, under the names that a commitment has. */
export interface SaltedRow {
  id: number;
  salt: Salt;
  /** In milliseconds since 1970 (UTC). */
  created_at: number;
}

export interface SaltedRows {
  agent: SaltedRow & { bio: string; name: string; resident: number | null };
  community: SaltedRow & { agent: number | null; description: string; name: string; title: string };
  post: SaltedRow & { agent: number; body: string; community: number; title: string };
  comment: SaltedRow & { agent: number; body: string; post_id: number; parent_id: number | null };
}

export type SaltedKind = keyof SaltedRows;

/** In the order in which they are imported: an author comes before its words. */
export const saltedKinds = ["agent", "community", "post", "comment"] as const satisfies readonly SaltedKind[];

const tables = {
  agent: { table: "agents", columns: "bio, name, resident", stands: `name <> '${erasedName}'` },
  community: { table: "communities", columns: "created_by AS agent, description, name, title", stands: "TRUE" },
  post: { table: "posts", columns: "author_id AS agent, body, community_id AS community, title", stands: "TRUE" },
  comment: { table: "comments", columns: "author_id AS agent, body, post_id, parent_id", stands: "TRUE" },
} as const;

/** The kinds of rows that can be removed while their text is kept. */
export type RemovableKind = "post" | "comment";

/** The table where rows of a kind stand. */
export function tableOf(kind: SaltedKind): string {
  return tables[kind].table;
}

/** The table where removed rows of a kind are kept. */
export function removedTableOf(kind: RemovableKind): string {
  return `removed_${tables[kind].table}`;
}

const select = (kind: SaltedKind, table = tableOf(kind)) =>
  `SELECT id, salt, created_at, ${tables[kind].columns} FROM ${table}`;

/** A row that stands: it is neither removed nor erased. */
export async function findSaltedRow<Kind extends SaltedKind>(
  db: Queryable,
  kind: Kind,
  id: number,
): Promise<SaltedRows[Kind] | undefined> {
  const sql = `${select(kind)} WHERE id = ? AND ${tables[kind].stands}`;
  return (await db.rows<SaltedRows[Kind]>(sql, [id]))[0];
}

/** Locks a row that stands. */
export async function lockSaltedRow<Kind extends SaltedKind>(
  tx: Tx,
  kind: Kind,
  id: number,
): Promise<SaltedRows[Kind] | undefined> {
  const sql = `${select(kind)} WHERE id = ? AND ${tables[kind].stands} FOR UPDATE`;
  return (await tx.rows<SaltedRows[Kind]>(sql, [id]))[0];
}

/** The rows after an id that stand, in the order of their ids. */
export function listSaltedRows<Kind extends SaltedKind>(
  db: Queryable,
  kind: Kind,
  after: number,
  limit: number,
): Promise<SaltedRows[Kind][]> {
  return db.rows(`${select(kind)} WHERE id > ? AND ${tables[kind].stands} ORDER BY id LIMIT ?`, [after, String(limit)]);
}

/** A row that is removed. Its salt is null if its text is erased, or was never in the log. */
export async function findRemovedRow<Kind extends RemovableKind>(
  db: Queryable,
  kind: Kind,
  id: number,
): Promise<SaltedRows[Kind] | undefined> {
  const sql = `${select(kind, removedTableOf(kind))} WHERE id = ?`;
  return (await db.rows<SaltedRows[Kind]>(sql, [id]))[0];
}

/** The rows after an id that are removed, in the order of their ids. */
export function listRemovedRows<Kind extends RemovableKind>(
  db: Queryable,
  kind: Kind,
  after: number,
  limit: number,
): Promise<SaltedRows[Kind][]> {
  return db.rows(`${select(kind, removedTableOf(kind))} WHERE id > ? ORDER BY id LIMIT ?`, [after, String(limit)]);
}

/** The highest id of a kind. Ids count up from 1, so there are at most this many rows. It reads one row, or none. */
export async function highestId(db: Queryable, kind: SaltedKind): Promise<number> {
  return (await db.rows<{ id: number | null }>(`SELECT MAX(id) AS id FROM ${tables[kind].table}`))[0]?.id ?? 0;
}

/** The next rows after an id, and which of them stand without a salt. Their texts are not read. */
export async function listSaltless(
  db: Queryable,
  kind: SaltedKind,
  after: number,
  limit: number,
): Promise<{ id: number; lacks: number }[]> {
  const { table, stands } = tables[kind];
  const sql = `SELECT id, salt IS NULL AND ${stands} AS lacks FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`;
  return db.rows(sql, [after, String(limit)]);
}

/** Locks those of some rows that stand without a salt, in the order of their ids. */
export function lockSaltless<Kind extends SaltedKind>(
  tx: Tx,
  kind: Kind,
  ids: readonly number[],
): Promise<SaltedRows[Kind][]> {
  const { places, list } = inList(ids);
  const sql = `${select(kind)} FORCE INDEX (PRIMARY)
    WHERE id IN (${places}) AND salt IS NULL AND ${tables[kind].stands} ORDER BY id FOR UPDATE`;
  return tx.rows(sql, list);
}

/** How many salts one UPDATE stores at most. */
const maxStored = 64;

/** Stores the first salts of rows that are locked. */
export async function putSalts(tx: Tx, kind: SaltedKind, rows: readonly { id: number; salt: Buffer }[]): Promise<void> {
  for (const part of inPowersOfTwo(rows, maxStored)) {
    const ids = part.map(({ id }) => id);
    await tx.run(
      `UPDATE ${tables[kind].table} FORCE INDEX (PRIMARY) SET salt = CASE id ${"WHEN ? THEN ? ".repeat(part.length)}END
       WHERE id IN (${part.map(() => "?").join(", ")})`,
      [...part.flatMap(({ id, salt }) => [id, salt]), ...ids],
    );
  }
}

/** The tables whose rows have salts, with those of removed posts and comments. */
export const saltedTables = [
  "agents",
  "communities",
  "posts",
  "removed_posts",
  "comments",
  "removed_comments",
] as const;

/** Takes the salts from the rows after one id up to another. @returns the highest id of the table */
export async function forgetSalts(
  tx: Tx,
  table: (typeof saltedTables)[number],
  after: number,
  upTo: number,
): Promise<number> {
  await tx.run(`UPDATE ${table} SET salt = NULL WHERE id > ? AND id <= ? AND salt IS NOT NULL`, [after, upTo]);
  return (await tx.rows<{ id: number | null }>(`SELECT MAX(id) AS id FROM ${table}`))[0]?.id ?? 0;
}
