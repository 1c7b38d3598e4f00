import type { ResultSetHeader } from "mysql2";
import { CommitInDoubt, isCommitInDoubt } from "./database-errors.ts";
import { checkDeadline } from "./pool/deadline.ts";
import type { Session } from "./pool/session.ts";
import type { Param, Tx } from "./queryable.ts";

/**
 * Runs `work` in one transaction on a leased session, and commits it. When `work` throws, the transaction is rolled back.
 * @param endsAt when the call's time is over, by `performance.now()`
 * @param onUnusable called when ROLLBACK failed: the session may still be in a transaction
 * @throws what `work` throws; the signal's reason; errors of the driver; StoaError `unavailable` when the time is over;
 * CommitInDoubt
 */
export async function runTransaction<T>(
  session: Session,
  signal: AbortSignal,
  endsAt: number,
  work: (tx: Tx) => Promise<T>,
  onUnusable: () => void,
): Promise<T> {
  const { lease } = session;
  checkDeadline(signal, endsAt);
  // The first statement begins the transaction.
  if (session.autocommit !== false) await session.setAutocommit(false);
  try {
    const result = await work(new OpenTransaction(session, signal, endsAt));
    checkDeadline(signal, endsAt);
    await commit(session);
    return result;
  } catch (error) {
    // The pool rolls an abandoned session back. It may already be in the transaction of somebody else.
    if (session.isHeldBy(lease)) {
      session.signal = undefined;
      await session.command("ROLLBACK").catch(onUnusable);
    }
    throw error;
  }
}

class OpenTransaction implements Tx {
  readonly #session: Session;
  readonly #signal: AbortSignal;
  readonly #endsAt: number;

  constructor(session: Session, signal: AbortSignal, endsAt: number) {
    this.#session = session;
    this.#signal = signal;
    this.#endsAt = endsAt;
  }

  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]> {
    checkDeadline(this.#signal, this.#endsAt);
    return this.#session.execute<Row[]>(sql, params);
  }

  run(sql: string, params?: readonly Param[]): Promise<{ affectedRows: number; insertId: number }> {
    checkDeadline(this.#signal, this.#endsAt);
    return this.#session.execute<ResultSetHeader>(sql, params);
  }
}

/** A caller that gives up does not interrupt COMMIT: its outcome would not be known. */
async function commit(session: Session): Promise<void> {
  session.signal = undefined;
  try {
    await session.command("COMMIT");
  } catch (error) {
    // When the connection is gone or abandoned, the answer to COMMIT is lost.
    throw session.state === "leased" && !isCommitInDoubt(error) ? error : new CommitInDoubt(error);
  }
}
