import { type ProvedItem, proveItem } from "../../client/signed-log/prove.ts";
import type { SignedLog } from "../../client/signed-log/signed-log.ts";
import { formatVkey } from "../../tlog/notes/key.ts";
import { knownLog } from "../log-key.ts";
import { openLog } from "../open-log.ts";
import { good, outcomeOf } from "../outcome.ts";
import type { Output } from "../output.ts";
import { defaultStateFile, StateFile } from "../state.ts";
import type { OnlineProof } from "./arguments.ts";
import { reportProof } from "./report.ts";

/**
 * Proves an item of a service, and reports to the output. It changes nothing in the state file.
 * @returns the exit status
 * @throws UsageError, StateError
 */
export async function prove(
  { root, item, key, state }: OnlineProof,
  output: Output,
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<number> {
  const remembered = new StateFile(state ?? defaultStateFile(root, environment), root).load();
  const known = await knownLog(key, remembered?.log);
  let log: SignedLog | undefined;
  let proved: ProvedItem | undefined;
  let outcome = good;
  try {
    log = await openLog([`${root}/log`], known, output, signal);
    proved = await proveItem(root, item, log, signal);
  } catch (error) {
    outcome = outcomeOf(error, signal);
  }
  const vkey = log === undefined ? undefined : formatVkey(log.key);
  reportProof(output, { ...outcome, of: { url: root, item: item.path }, vkey, proved, author: proved?.author });
  return outcome.status;
}
