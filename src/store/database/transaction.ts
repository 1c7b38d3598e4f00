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
 * @param preparedFirst gets the statements that `work` needs prepared. `work` then runs again
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
  // False when ROLLBACK has failed: the connection may still be in a transaction.
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
        // The pool has taken the connection away, and rolls back itself.
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

/** Fewer than a connection keeps prepared: the first statements of transactions need room as well. */
const maxPreparedFirst = 150;

/**
 * The statements to prepare on a connection before a transaction begins, where that matters: see `Session.mustPrepareBefore`.
 * Beyond `maxPreparedFirst`, the oldest are dropped.
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

/** Ends an attempt at a statement that must be prepared before the transaction. `runTransaction` then tries again. */
class NotPrepared extends Error {
  override readonly name = "NotPrepared";
  // The number of a deadlock: if the rollback fails, `Retries` tries again.
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
 * COMMIT is not interrupted when the caller gives up: its outcome would not be known.
 * @param before statements that are sent with COMMIT. If one fails, the server runs none after it, and no COMMIT
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
