import { resolve } from "node:path";
import { StoaError } from "../../client/receipts.ts";
import { findingOf } from "../../client/signed-log/finding.ts";
import { type KnownLog, SignedLog } from "../../client/signed-log/signed-log.ts";
import { toBase64 } from "../../tlog/encoding.ts";
import { formatVkey } from "../../tlog/notes/key.ts";
import { openLog } from "../open-log.ts";
import { good, outcomeOf } from "../outcome.ts";
import type { Output } from "../output.ts";
import { StateError } from "../state.ts";
import type { MirrorArguments } from "./arguments.ts";
import { copyTree } from "./copy.ts";
import { MirrorFolder } from "./folder.ts";

/**
 * Copies the new entries of a log into a folder, and reports to the output.
 * @returns the exit status
 * @throws StateError if the folder cannot be used
 */
export async function mirror(options: MirrorArguments, output: Output, signal: AbortSignal): Promise<number> {
  const { url, key } = options;
  const begun = performance.now();
  const folder = new MirrorFolder(resolve(options.folder));
  const known = await openFolder(folder, key);
  const from = known.tree?.size ?? 0;
  let log: SignedLog | undefined;
  let outcome = good;
  try {
    // A Stoa has its log below its root address. A mirror may be anywhere.
    log = await openLog([`${url}/log`, url], known, output, signal);
    if (log.tree.size > from) await update(folder, log, from, output);
  } catch (error) {
    outcome = outcomeOf(error, signal);
  }
  const { ok, reason, status } = outcome;
  const { path: dir } = folder;
  const origin = log?.key.name ?? null;
  const vkey = log === undefined ? null : formatVkey(log.key);
  const { size: to, root } = ok && log !== undefined ? log.checkpoint : { size: from, root: null };
  const hash = root === null ? null : toBase64(root);
  const durationMs = Math.round(performance.now() - begun);
  output.end(
    { ok, url, dir, origin, vkey, from, to, root: hash, reason, duration_ms: durationMs },
    ok === null
      ? `${url} could not be copied: ${reason}`
      : ok
        ? `${dir} has ${to} entries of ${origin}, ${to - from} of them new`
        : `the log of ${url} does not verify: ${reason}`,
  );
  return status;
}

/** What the folder already has. @throws StateError if it is not the mirror of a log, or damaged */
async function openFolder(folder: MirrorFolder, key: KnownLog["key"]): Promise<KnownLog> {
  try {
    const local = await SignedLog.open(folder, { key });
    return local === undefined ? { key } : { key: local.key, tree: local.checkpoint };
  } catch (error) {
    const reason = error instanceof StoaError ? error : findingOf(error);
    if (reason === undefined) throw error;
    const mend = "restore it from a backup, or remove its checkpoint to copy what is missing";
    throw new StateError(`the folder ${folder.path} is not a good mirror of this log: ${reason.message}; ${mend}`);
  }
}

async function update(folder: MirrorFolder, log: SignedLog, from: number, output: Output): Promise<void> {
  await folder.prepare();
  try {
    const { size } = log.tree;
    await copyTree(log, folder, from, (entries) => output.progress(entries, size - from));
    await folder.publish(log.note, from, size);
  } finally {
    await folder.close();
  }
}
