import { schemaFaultOf } from "../database/database-errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";

/** A value of a row as it is stored or as it should be. */
export type Value = string | number | null;

/** A value or row in the database that is wrong. */
export interface Finding {
  /** The table; if one value is wrong, a dot and the column: `posts.upvotes`. */
  subject: string;
  /** Names the row, usually by its primary key; empty if the finding is not about one row. */
  key: Readonly<Record<string, Value>>;
  /** For the operator, without the subject and the key: `stored 9, counted 8`. */
  problem: string;
  /** The wrong value and the right one, if the right one follows from other rows. */
  wrong?: { stored: Value; counted: Value };
}

/** A finding, and whether it was repaired. */
export interface Outcome {
  finding: Finding;
  repaired: boolean;
}

/*
 * A check reads all rows that belong to about 1,000 keys, however many these are. Of removed posts the engine also reads the
 * texts, at most 40 MB. A statement returns at most `maxFindings` + 1 rows of numbers and names. Statements that return texts
 * have smaller batches. Only the operator runs fsck. Checks lock nothing; repairs lock what they change.
 */

/** The rows whose key is greater than `after` and at most `to`. */
export interface Range {
  after: number;
  to: number;
}

/** The check of one table. */
export interface TableCheck {
  table: string;
  /** The integer column that divides the table into ranges; first in an index, except in the small `unfinished_removals`. */
  key: string;
  /** The columns that follow from other rows, so that `repairRow` can set them. */
  derived: readonly string[];
  /**
   * Checks a range of rows. A row and its counters change in one transaction, so they agree within one statement, but not
   * between two: one statement must read everything that it compares.
   * @param now milliseconds since 1970 (UTC)
   * @returns all findings; or more than `maxFindings` of them, if there are that many
   */
  find(db: Queryable, range: Range, now: number): Promise<Finding[]>;
  /** Deletes the row of a finding if the row should not exist. Without this, rows are never deleted. @returns whether it did */
  remove?(tx: Tx, key: Finding["key"]): Promise<boolean>;
}

/** A range with more findings than this is checked in halves, so that findings take bounded memory. */
export const maxFindings = 1_000;
export const limitRows = `LIMIT ${maxFindings + 1}`;

/** Describes a finding in one line. */
export function describeFinding({ subject, key, problem }: Finding): string {
  const names = Object.entries(key).map(([name, value]) => ` ${name} ${printable(value)}`);
  return `${subject}${names.join("")}: ${problem}`;
}

/** A value as part of a line. A text that is not a plain word becomes JSON in ASCII. */
function printable(value: Value): string {
  if (typeof value !== "string" || /^[\w-]+$/.test(value)) return String(value);
  const toAscii = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[^ -~]/g, toAscii);
}

/** A finding if `stored` differs from `counted`; none if they are equal. */
export function compare(subject: string, key: Finding["key"], stored: Value, counted: Value): Finding[] {
  if (stored === counted) return [];
  return [
    { subject, key, problem: `stored ${printable(stored)}, counted ${printable(counted)}`, wrong: { stored, counted } },
  ];
}

/** A finding if `broken`; otherwise none. */
export function refuse(broken: boolean, subject: string, key: Finding["key"], problem: string): Finding[] {
  return broken ? [{ subject, key, problem }] : [];
}

/**
 * The finding for a check that was left out because the schema lacks something.
 * @throws the error if it has another cause
 */
export function leftOut(subject: string, error: unknown): Finding {
  const fault = schemaFaultOf(error);
  if (fault === undefined) throw error;
  return { subject, key: {}, problem: `not checked: ${fault.message}` };
}

/**
 * The lowest key of a table after `after`; undefined if there is none. New rows may get lower keys than older rows. So a walk
 * finds each row that existed when it began, but perhaps no newer one.
 */
export async function nextKey(
  db: Queryable,
  { table, key }: Pick<TableCheck, "table" | "key">,
  after: number,
): Promise<number | undefined> {
  const [row] = await db.rows<{ next: number | null }>(`SELECT MIN(${key}) AS next FROM ${table} WHERE ${key} > ?`, [
    after,
  ]);
  return row?.next ?? undefined;
}

/** Findings that nothing repairs. */
export async function* unrepaired(findings: AsyncIterable<Finding>): AsyncGenerator<Outcome, void> {
  for await (const finding of findings) yield { finding, repaired: false };
}
