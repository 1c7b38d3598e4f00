import type { Database, TransactionOptions } from "../../store/database/database.ts";
import { sealWithGuard } from "../head-guard/guarded-sealing.ts";
import type { HeadGuard } from "../head-guard/head-guard.ts";
import type { Sealing } from "./append.ts";
import type { SealChecks } from "./seal-checks.ts";

export interface SealerOptions {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  /** The date that is city_day 1. */
  epoch: string;
  sealChecks: SealChecks | undefined;
  guard: HeadGuard | undefined;
  /** Called after each commit. */
  onCommit(): void;
}

/** Runs the transactions that append receipts. */
export class Sealer {
  readonly #options: SealerOptions;

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  /**
   * @param isApproved whether an operator approved sealing the days that were missed
   * @returns why nothing may be sealed now; undefined if sealing is allowed
   * @throws StoaError `unavailable` when a check cannot find out
   */
  async blockReason(signal: AbortSignal, isApproved = false): Promise<string | undefined> {
    return this.#options.sealChecks?.blockReason(signal, isApproved);
  }

  /**
   * Runs a transaction that may append receipts. Followers are notified after the commit.
   * @param options.isApproved whether an operator approved sealing the days that were missed
   * @throws SealingBlocked if `work` appends a receipt while nothing may be sealed; work that appends none still
   * succeeds
   */
  async write<Result>(
    signal: AbortSignal,
    work: (sealing: Sealing) => Promise<Result>,
    { isApproved = false, isClaimed = false }: TransactionOptions & { isApproved?: boolean } = {},
  ): Promise<Result> {
    const { db, now, epoch, guard, onCommit } = this.#options;
    // A check may read the database. Inside the transaction it would wait for a second connection.
    const blockReason = await this.blockReason(signal, isApproved);
    const { result, stored } = await sealWithGuard(
      { db, guard, signal, isClaimed },
      (tx) => ({ tx, now: now(), epoch, blockReason, guard }),
      work,
    );
    onCommit();
    await stored;
    return result;
  }
}
