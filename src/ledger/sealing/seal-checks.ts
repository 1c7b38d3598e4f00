import { StoaError } from "../../errors.ts";

/**
 * Why nothing may be sealed now, in one sentence; undefined where this check knows of no reason.
 * @param catchUp whether an operator has given the word to seal what was missed
 */
export type SealCheck = (signal: AbortSignal, catchUp: boolean) => Promise<string | undefined>;

/** How soon a caller may try again, in seconds. */
const retryAfterSeconds = 60;

/** A seal was refused because a check of `SealChecks` gave a reason. */
export class SealingBlocked extends StoaError {
  constructor(reason: string) {
    super("unavailable", `Nothing is sealed now: ${reason}`, { retryAfterSeconds });
  }
}

/**
 * The checks that the ledger makes before it seals anything: receipt 1, sessions and days alike. While any of them gives a
 * reason, nothing is sealed; reading, verifying and the board go on.
 */
export class SealChecks {
  readonly #checks: SealCheck[] = [];

  /** To be called before the ledger is opened, so that the check also decides about receipt 1. */
  add(check: SealCheck): void {
    this.#checks.push(check);
  }

  /**
   * @returns every reason why nothing may be sealed now, joined; undefined where there is none
   * @throws StoaError `unavailable` when a check cannot find out; the signal's reason
   */
  async reason(signal: AbortSignal, catchUp = false): Promise<string | undefined> {
    const reasons: string[] = [];
    for (const check of this.#checks) {
      const reason = await check(signal, catchUp);
      if (reason !== undefined) reasons.push(reason);
    }
    return reasons.length === 0 ? undefined : reasons.join(" ");
  }
}
