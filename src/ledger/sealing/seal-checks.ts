import { StoaError } from "../../errors.ts";

/**
 * A check that is made before anything is sealed.
 * @param isApproved whether an operator approved sealing the days that were missed
 * @returns why nothing may be sealed now, in one sentence; undefined if this check has no objection
 */
export type SealCheck = (signal: AbortSignal, isApproved: boolean) => Promise<string | undefined>;

/** When a caller may try again, in seconds. */
const retryAfterSeconds = 60;

/** Sealing was refused because a check of `SealChecks` gave a reason. */
export class SealingBlocked extends StoaError {
  constructor(reason: string) {
    super("unavailable", `Nothing is sealed now: ${reason}`, { retryAfterSeconds });
  }
}

/**
 * The checks that the ledger makes before it seals a receipt of any type. While one of them gives a reason, nothing is
 * sealed. Reading, verifying and the board continue.
 */
export class SealChecks {
  readonly #checks: SealCheck[] = [];

  /** Adds a check. Call this before the ledger is opened, so that the check also applies to receipt 1. */
  add(check: SealCheck): void {
    this.#checks.push(check);
  }

  /**
   * Runs all checks.
   * @param isApproved whether an operator approved sealing the days that were missed
   * @returns every reason why nothing may be sealed now, joined; undefined if there is none
   * @throws StoaError `unavailable` when a check cannot find out; the signal's reason
   */
  async blockReason(signal: AbortSignal, isApproved = false): Promise<string | undefined> {
    const reasons: string[] = [];
    for (const check of this.#checks) {
      const reason = await check(signal, isApproved);
      if (reason !== undefined) reasons.push(reason);
    }
    return reasons.join(" ") || undefined;
  }
}
