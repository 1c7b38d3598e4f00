import { Ticker } from "../../timing/ticker.ts";
import type { Ledger } from "../ledger.ts";
import type { LedgerLog } from "../log.ts";

/** How soon a verification that failed is tried again, in milliseconds. */
const retryMs = 30_000;

/** What the log says when the verification has ended. */
export const verifiedAtStart = "verified what was sealed since the last verification";

/** Verifies, beside the service, what was sealed since the last verification; once, but for failures of the database. */
export function startVerification(ledger: Ledger, log: LedgerLog): Ticker {
  let done = false;
  const verify = async (signal: AbortSignal) => {
    if (done) return;
    const { count, link, finding } = await ledger.catchUp(signal);
    done = true;
    log.info({ count, lastGood: link.seq, isGood: finding === undefined }, verifiedAtStart);
  };
  return new Ticker(retryMs, verify, (err) =>
    log.error({ err }, "the ledger could not be verified; it will be tried again"),
  );
}
