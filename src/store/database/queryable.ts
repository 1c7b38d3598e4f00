/*
 * Every statement has a bound on the rows that it reads and changes, whatever the board holds. Most find rows by a primary or
 * unique key, for which a list of ids has a fixed length, or have a LIMIT on what they examine. A comment says what bounds the
 * others. Statements of fsck, see store/recount/finding.ts, are the exception.
 */

/** Something that reads. Outside a transaction each statement sees what was committed when it began. */
export interface Queryable {
  /** Runs a prepared SELECT and returns its rows. */
  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
}

/** A reader outside a transaction. */
export interface Reader extends Queryable {
  /** The same for statements whose cost the client chooses. A process runs only a few of them at a time. */
  costly(): Queryable;
}

/** An open transaction. It runs one statement at a time. Functions that need a transaction take a `Tx`. */
export interface Tx extends Queryable {
  /** Runs a prepared INSERT, UPDATE or DELETE. */
  run(sql: string, params?: readonly Param[]): Promise<{ affectedRows: number; insertId: number }>;
  /**
   * Runs a statement right before COMMIT, in the same message: that saves a round trip. It is not prepared, so its text must
   * consist of constants, integers and hexadecimal digits. If it fails, nothing is committed.
   */
  runAtCommit(sql: string): void;
}

/** A value bound to a `?`. LIMIT and OFFSET take strings: the engines refuse the doubles that mysql2 makes of numbers. */
export type Param = string | number | Buffer | null;
