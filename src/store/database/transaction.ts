import type { ResultSetHeader } from "mysql2";
import { CommitInDoubt, isCommitInDoubt } from "./database-errors.ts";
import { checkDeadline } from "./pool/deadline.ts";
import type { Pool } from "./pool/pool.ts";
import type { Session } from "./pool/session.ts";
import type { Param, Tx } from "./queryable.ts";

/**
 * Runs `work` in one transaction on a connection without autocommit, and commits it. When `work` throws, the transaction is
 * rolled back.
 * @param pool lends the connection
 * @param endsAt when the time of the call is over, by `performance.now()`
 * @param preparedFirst the statements of this database that are prepared before a transaction
 * @throws what `work` throws; the signal's reason; errors of the driver; StoaError `unavailable` when the time is over;
 * CommitInDoubt
 */
export async function runTransaction<T>(
  pool: Pool,
  signal: AbortSignal,
  endsAt: number,
  work: (tx: Tx) => Promise<T>,
  preparedFirst: PreparedFirst,
): Promise<T> {
  const session = await pool.lend(signal, endsAt);
  // The connection may still be in a transaction when ROLLBACK has failed.
  let isUsable = true;
  try {
    checkDeadline(signal, endsAt);
    for (;;) {
      await preparedFirst.prepareOn(session);
      try {
        const transaction = new OpenTransaction(session, signal, endsAt);
        const result = await work(transaction);
        checkDeadline(signal, endsAt);
        await commit(session, transaction.atCommit);
        return result;
      } catch (error) {
        // The pool itself rolls back on a connection that it has taken away.
        if (session.isLost) throw error;
        session.signal = undefined;
        await session.command("ROLLBACK").catch(() => {
          isUsable = false;
        });
        if (!(error instanceof NotPrepared) || !isUsable) throw error;
        preparedFirst.add(error.sql);
        session.signal = signal;
        checkDeadline(signal, endsAt);
      }
    }
  } finally {
    pool.release(session, isUsable);
  }
}

/** Fewer statements than a connection keeps, because those of reads need room as well. */
const maxPreparedFirst = 150;

/**
 * The statements of a database's transactions that are prepared before a transaction begins, where that matters; see
 * `Session.mustPrepareBefore`. The latest come last.
 */
export class PreparedFirst {
  readonly #statements = new Set<string>();

  add(sql: string): void {
    for (const oldest of this.#statements) {
      if (this.#statements.size < maxPreparedFirst) break;
      this.#statements.delete(oldest);
    }
    this.#statements.add(sql);
  }

  /** Prepares them on a session that is in no transaction. */
  async prepareOn(session: Session): Promise<void> {
    for (const sql of this.#statements) if (session.mustPrepareBefore(sql)) await session.prepare(sql);
  }
}

/** A transaction has come to a statement that must be prepared before the transaction. It runs again when that is done. */
class NotPrepared extends Error {
  override readonly name = "NotPrepared";
  // Code that does not know this class takes it for a deadlock.
  readonly errno = 1213;
  readonly sql: string;

  constructor(sql: string) {
    super("The statement is not prepared yet.");
    this.sql = sql;
  }
}

class OpenTransaction implements Tx {
  readonly #session: Session;
  readonly #signal: AbortSignal | undefined;
  readonly #endsAt: number;
  #hasBegun = false;
  readonly atCommit: string[] = [];

  constructor(session: Session, signal: AbortSignal | undefined, endsAt: number) {
    this.#session = session;
    this.#signal = signal;
    this.#endsAt = endsAt;
  }

  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]> {
    this.#check(sql);
    return this.#session.execute<Row[]>(sql, params);
  }

  run(sql: string, params?: readonly Param[]): Promise<{ affectedRows: number; insertId: number }> {
    this.#check(sql);
    return this.#session.execute<ResultSetHeader>(sql, params);
  }

  runAtCommit(sql: string): void {
    this.atCommit.push(sql);
  }

  #check(sql: string): void {
    checkDeadline(this.#signal, this.#endsAt);
    if (this.#hasBegun && this.#session.mustPrepareBefore(sql)) throw new NotPrepared(sql);
    this.#hasBegun = true;
  }
}

/**
 * A caller that gives up does not interrupt COMMIT: its outcome would not be known.
 * @param before statements that are sent with it. The server stops at the first that fails, so it does not come to COMMIT
 */
async function commit(session: Session, before: readonly string[]): Promise<void> {
  session.signal = undefined;
  try {
    await session.command([...before, "COMMIT"].join("; "));
  } catch (error) {
    // When the connection is gone or taken away, the answer to COMMIT is lost.
    throw session.isLost || isCommitInDoubt(error) ? new CommitInDoubt(error) : error;
  }
}
