import { schemaFaultOf } from "../database/database-errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";

/** A value of a row as it is stored or as it should be. */
export type Value = string | number | null;

/** A value or row in the database that is wrong. */
export interface Finding {
  /** The table; if one value is wrong, a dot and the column: `posts.upvotes`. */
  subject: string;
  /** The primary key of the row, in the order of its columns; empty if the finding is not about one row. */
  key: Readonly<Record<string, Value>>;
  /** For people, without the subject and the key: `stored 9, counted 8`. */
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
 * A statement of fsck counts what it checks, so it reads as many rows as there are about 1,000 keys, and inside the engine the
 * texts of removed posts among them, 40 MB at most. What it returns has a bound: `maxFindings` rows of numbers and names.
 * Where texts are returned, batches are smaller. Nobody but the operator starts one, and it locks nothing.
 */

/** The rows whose key is greater than `after` and at most `to`. */
export interface Range {
  after: number;
  to: number;
}

/** The check of one table. */
export interface TableCheck {
  table:
    | "agents"
    | "agent_limits"
    | "comments"
    | "comment_votes"
    | "communities"
    | "community_moderators"
    | "inboxes"
    | "inbox_items"
    | "moderation_actors"
    | "moderation_notes"
    | "moderations"
    | "post_revisions"
    | "posts"
    | "removed_comments"
    | "removed_posts"
    | "reported_texts"
    | "reports"
    | "search_agents"
    | "search_comments"
    | "search_communities"
    | "search_posts"
    | "subscriptions"
    | "suspensions"
    | "unfinished_removals"
    | "votes";
  /** The column by which the table is divided into ranges: an integer, first in an index. */
  key: string;
  /** The columns that follow from other rows, so that `repairRow` can set them. */
  derived: readonly string[];
  /**
   * Checks a range of rows. Rows and their counters change in one transaction, so they agree at every moment, and each
   * statement must see everything that it compares. It returns up to `maxFindings` + 1 broken rows.
   * @param now milliseconds since 1970 (UTC)
   */
  find(db: Queryable, range: Range, now: number): Promise<Finding[]>;
  /** Deletes the row of a finding if that is right. Without it rows are never deleted. @returns whether it was deleted */
  remove?(tx: Tx, key: Finding["key"]): Promise<boolean>;
}

/** A range with more broken rows than this is checked in halves, so that findings take bounded memory. */
export const maxFindings = 1_000;
export const limitRows = `LIMIT ${maxFindings + 1}`;

/** Describes a finding in one line. */
export function describeFinding({ subject, key, problem }: Finding): string {
  const names = Object.entries(key).map(([name, value]) => ` ${name} ${printable(value)}`);
  return `${subject}${names.join("")}: ${problem}`;
}

/** A value within a line. A text that is no plain word is written as JSON. */
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

/** A finding about a row that breaks a rule, if `broken`. */
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
 * The lowest key of a table after `after`; undefined if there is none. Keys need not be in the order of time: a walk finds
 * each row that existed when it began, and the next walk finds the others.
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
