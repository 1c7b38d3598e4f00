// Tables whose rows note what a receipt did, so that it is found without reading the chain. Each row follows from a receipt.
import type { Param, Queryable, Tx } from "../database/queryable.ts";

export interface NoteTable {
  name: "ledger_days" | "ledger_sessions" | "ledger_recoveries";
  /** The columns of its primary key. Besides it each table has `seq`, which may itself be the key. */
  key: readonly string[];
}

/** A row: what receipt `seq` did. */
export interface Note {
  /** The values of the primary key, in its order; those of binary columns as bytes. */
  key: readonly (string | number | Buffer)[];
  seq: number;
}

/** How many rows `listNotes` reads at once. */
const batch = 50;

/** The rows of a table in the order of their keys, those after `after`; undefined means from the start. */
export async function listNotes(db: Queryable, table: NoteTable, after: Note | undefined): Promise<Note[]> {
  const { name, key } = table;
  const columns = key.map((column, index) => `${column} AS key_${index}`).join(", ");
  // Greater in one column, and equal in those before it.
  const greater = key.map((column, index) => [...key.slice(0, index).map((each) => `${each} = ?`), `${column} > ?`]);
  const where = after === undefined ? "" : `WHERE ${greater.map((all) => `(${all.join(" AND ")})`).join(" OR ")}`;
  const rows = await db.rows<Record<string, Param> & { seq: number }>(
    `SELECT ${columns}, seq FROM ${name} ${where} ORDER BY ${key.join(", ")} LIMIT ${batch}`,
    key.flatMap((_, index) => after?.key.slice(0, index + 1) ?? []),
  );
  return rows.map((row) => ({ key: key.map((_, index) => row[`key_${index}`] as Note["key"][number]), seq: row.seq }));
}

/** The receipt that is noted under a key; undefined where none is. */
export async function findNote(
  db: Queryable,
  { name, key }: NoteTable,
  values: Note["key"],
): Promise<number | undefined> {
  const [row] = await db.rows<{ seq: number }>(`SELECT seq FROM ${name} WHERE ${equal(key)}`, values);
  return row?.seq;
}

/** Writes a note, in place of what is noted under its key. The head must be locked. */
export async function putNote(tx: Tx, { name, key }: NoteTable, note: Note): Promise<void> {
  const row = new Map<string, Param>([...key.map((column, index) => [column, note.key[index]] as [string, Param])]);
  row.set("seq", note.seq);
  const marks = [...row].map(() => "?").join(", ");
  await tx.run(`REPLACE INTO ${name} (${[...row.keys()].join(", ")}) VALUES (${marks})`, [...row.values()]);
}

/** Deletes a note, if it still names the same receipt. The head must be locked. */
export async function deleteNote(tx: Tx, { name, key }: NoteTable, note: Note): Promise<void> {
  await tx.run(`DELETE FROM ${name} WHERE ${equal(key)} AND seq = ?`, [...note.key, note.seq]);
}

function equal(key: readonly string[]): string {
  return key.map((column) => `${column} = ?`).join(" AND ");
}
