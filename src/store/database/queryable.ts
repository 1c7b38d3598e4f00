/*
 * Every statement reads and changes a bounded number of rows, however many the board has. Most find rows by a primary or unique
 * key, with lists of ids of a fixed length, or LIMIT the rows that they examine. For others a comment says what the bound is.
 * The statements of fsck are the exception: see store/recount/finding.ts.
 */

/** Reads rows. Each statement sees what was committed when it began and, in a transaction, that transaction's own changes. */
export interface Queryable {
  /** Runs a prepared SELECT and returns its rows. */
  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
}

/** A reader outside a transaction. */
export interface Reader extends Queryable {
  /** A reader for statements whose cost the client chooses. A process runs only a few of them at a time. */
  costly(): Queryable;
}

/** An open transaction. It runs one statement at a time. Functions that need a transaction take a `Tx`. */
export interface Tx extends Queryable {
  /** Runs a prepared INSERT, UPDATE or DELETE. */
  run(sql: string, params?: readonly Param[]): Promise<{ affectedRows: number; insertId: number }>;
  /**
   * Sends a statement right before COMMIT in the same message, which saves a round trip. It is not prepared, so its text may
   * only have constants, integers and hexadecimal digits. If it fails, nothing is committed.
   */
  runAtCommit(sql: string): void;
}

/** A value bound to a `?`. LIMIT and OFFSET take strings: the engines refuse the doubles that mysql2 makes of numbers. */
export type Param = string | number | Buffer | null;
