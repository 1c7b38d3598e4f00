import { StoaError } from "../client/receipts.ts";
import { LogFinding } from "../client/signed-log/finding.ts";
import { type KnownLog, SignedLog } from "../client/signed-log/signed-log.ts";
import { LogSource } from "../client/signed-log/source.ts";
import { formatVkey } from "../tlog/notes/key.ts";
import type { Output } from "./output.ts";

/**
 * Opens the log at the first of some addresses that has one. If its key is known only from the log itself, it says so.
 * @throws LogFinding, TlogError; StoaError, also if there is no log; the signal's reason
 */
export async function openLog(
  addresses: readonly string[],
  known: KnownLog,
  output: Output,
  signal: AbortSignal,
): Promise<SignedLog> {
  for (const address of addresses) {
    const log = await SignedLog.open(new LogSource(address, signal), known, signal);
    if (log === undefined) continue;
    if (known.key === undefined) {
      output.note(`the log says that its key is ${formatVkey(log.key)}; compare it with one that you trust`);
    }
    return log;
  }
  if (known.tree !== undefined) throw new LogFinding("gone", "there is no log at this address any more");
  throw new StoaError("unusable", "there is no log at this address");
}
