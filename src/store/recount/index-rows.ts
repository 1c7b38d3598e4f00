// The index tables of the ledger. They find the receipt of a day or session, and all recoveries, without reading the chain.
import type { Param, Queryable, Tx } from "../database/queryable.ts";

export interface IndexTable {
  name: "ledger_days" | "ledger_sessions" | "ledger_recoveries";
  /** The columns of its primary key. Each table has a column `seq`; in ledger_recoveries that is the key. */
  key: readonly string[];
}

/** A row of an index table. */
export interface IndexRow {
  /** The values of the primary key, in its order; those of binary columns as bytes. */
  key: readonly (string | number | Buffer)[];
  /** The number of the receipt. */
  seq: number;
}

/** How many rows `listIndexRows` reads at once. */
const batch = 50;

/** The next `batch` rows of a table, in the order of their keys. @param after the last row so far; undefined to begin */
export async function listIndexRows(
  db: Queryable,
  table: IndexTable,
  after: IndexRow | undefined,
): Promise<IndexRow[]> {
  const { name, key } = table;
  const columns = key.map((column, index) => `${column} AS key_${index}`).join(", ");
  // A key is greater if it is greater in one column, and equal in the columns before that.
  const greater = key.map((column, index) => [...key.slice(0, index).map((each) => `${each} = ?`), `${column} > ?`]);
  const where = after === undefined ? "" : `WHERE ${greater.map((all) => `(${all.join(" AND ")})`).join(" OR ")}`;
  const rows = await db.rows<Record<string, Param> & { seq: number }>(
    `SELECT ${columns}, seq FROM ${name} ${where} ORDER BY ${key.join(", ")} LIMIT ${batch}`,
    key.flatMap((_, index) => after?.key.slice(0, index + 1) ?? []),
  );
  return rows.map((row) => ({
    key: key.map((_, index) => row[`key_${index}`] as IndexRow["key"][number]),
    seq: row.seq,
  }));
}

/** The number of the receipt in the row with this key; undefined if there is no row. */
export async function findIndexRow(
  db: Queryable,
  { name, key }: IndexTable,
  values: IndexRow["key"],
): Promise<number | undefined> {
  const [row] = await db.rows<{ seq: number }>(`SELECT seq FROM ${name} WHERE ${equal(key)}`, values);
  return row?.seq;
}

/** Writes a row, or replaces the row with the same key. The head must be locked. */
export async function putIndexRow(tx: Tx, { name, key }: IndexTable, row: IndexRow): Promise<void> {
  const values = new Map<string, Param>([...key.map((column, index) => [column, row.key[index]] as [string, Param])]);
  values.set("seq", row.seq);
  const marks = [...values].map(() => "?").join(", ");
  await tx.run(`REPLACE INTO ${name} (${[...values.keys()].join(", ")}) VALUES (${marks})`, [...values.values()]);
}

/** Deletes a row, if it still names the same receipt. The head must be locked. */
export async function deleteIndexRow(tx: Tx, { name, key }: IndexTable, row: IndexRow): Promise<void> {
  await tx.run(`DELETE FROM ${name} WHERE ${equal(key)} AND seq = ?`, [...row.key, row.seq]);
}

function equal(key: readonly string[]): string {
  return key.map((column) => `${column} = ?`).join(" AND ");
}
