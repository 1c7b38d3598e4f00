import { Ticker } from "../../timing/ticker.ts";
import type { LedgerLog } from "../log.ts";
import type { Verifier } from "./verifier.ts";

/** How soon a verification that failed is tried again, in milliseconds. */
const retryMs = 30_000;

/** What the log says when the verification has ended. */
export const verifiedAtStart = "verified the receipts since the last verification";

/**
 * Verifies the receipts since the last verification, while the service already runs. It does so once, and tries again only
 * after a failure, such as one of the database.
 */
export function verifyAtStart(verifier: Verifier, log: LedgerLog): Ticker {
  let isDone = false;
  const verify = async (signal: AbortSignal) => {
    if (isDone) return;
    const { count, link, finding } = await verifier.run(signal);
    isDone = true;
    log.info({ count, lastGood: link.seq, isGood: finding === undefined }, verifiedAtStart);
  };
  return new Ticker(retryMs, verify, (err) =>
    log.error({ err }, "the ledger could not be verified; it will be tried again"),
  );
}
