import { StoaError } from "../../client/receipts.ts";
import { LogFinding } from "../../client/signed-log/finding.ts";
import { type ProvedItem, proveItem } from "../../client/signed-log/prove.ts";
import { SignedLog } from "../../client/signed-log/signed-log.ts";
import { LogSource } from "../../client/signed-log/source.ts";
import { formatVkey } from "../../tlog/notes/key.ts";
import { knownLog } from "../log-key.ts";
import { good, outcomeOf } from "../outcome.ts";
import { defaultStateFile, StateFile } from "../state.ts";
import type { OnlineProof } from "./arguments.ts";
import type { ProveOutput } from "./output.ts";

/**
 * Proves an item of a service, and reports to the output. It changes nothing in the state file.
 * @returns the exit status
 * @throws UsageError, StateError
 */
export async function prove(
  { root, item, key, state }: OnlineProof,
  output: ProveOutput,
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<number> {
  const remembered = new StateFile(state ?? defaultStateFile(root, environment), root).load();
  const known = await knownLog(key, remembered?.log);
  let log: SignedLog | undefined;
  let proved: ProvedItem | undefined;
  let outcome = good;
  try {
    log = await SignedLog.open(new LogSource(`${root}/log`, signal), known, signal);
    if (log === undefined) {
      if (known.tree !== undefined) throw new LogFinding("gone", "the log is gone");
      throw new StoaError("unusable", "there is no log at this address");
    }
    if (known.key === undefined) output.unpinned(log.key);
    proved = await proveItem(root, item, log, signal);
  } catch (error) {
    outcome = outcomeOf(error, signal);
  }
  const vkey = log === undefined ? undefined : formatVkey(log.key);
  output.end({ ...outcome, of: { url: root, item: item.path }, vkey, proved, author: proved?.author });
  return outcome.status;
}
