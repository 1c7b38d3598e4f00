import { toStoaError } from "./database-errors.ts";
import { checkDeadline, unavailable } from "./pool/deadline.ts";
import type { Session } from "./pool/session.ts";
import type { Param, Queryable } from "./queryable.ts";

/** Reads on one leased session. Its statements run one after another; each has its own deadline. */
export class OneSessionReader implements Queryable {
  readonly #session: Session;
  readonly #lease: number;
  readonly #signal: AbortSignal;
  readonly #newDeadline: () => number;
  /** Resolves when the last statement has ended. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(session: Session, signal: AbortSignal, newDeadline: () => number) {
    this.#session = session;
    this.#lease = session.lease;
    this.#signal = signal;
    this.#newDeadline = newDeadline;
  }

  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]> {
    const rows = this.#last.then(() => this.#read<Row>(sql, params));
    this.#last = rows.catch(() => {});
    return rows;
  }

  /** Resolves when no statement runs any more. */
  async ended(): Promise<void> {
    await this.#last;
  }

  async #read<Row>(sql: string, params?: readonly Param[]): Promise<Row[]> {
    const endsAt = this.#newDeadline();
    checkDeadline(this.#signal, endsAt);
    // The pool has taken the session back, or lost it.
    if (!this.#session.isHeldBy(this.#lease)) throw unavailable("The connection to the database was lost.");
    this.#session.endsAt = endsAt;
    try {
      if (this.#session.autocommit !== true) await this.#session.setAutocommit(true);
      return await this.#session.execute<Row[]>(sql, params);
    } catch (error) {
      throw toStoaError(error);
    }
  }
}
