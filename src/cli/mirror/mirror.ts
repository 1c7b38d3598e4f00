import { resolve } from "node:path";
import { StoaError } from "../../client/receipts.ts";
import { findingOf, LogFinding } from "../../client/signed-log/finding.ts";
import { type KnownLog, SignedLog } from "../../client/signed-log/signed-log.ts";
import { LogSource } from "../../client/signed-log/source.ts";
import { formatVkey } from "../../tlog/notes/key.ts";
import { good, outcomeOf } from "../outcome.ts";
import { StateError } from "../state.ts";
import type { MirrorArguments } from "./arguments.ts";
import { copyTree } from "./copy.ts";
import { MirrorFolder } from "./folder.ts";
import type { MirrorOutput } from "./output.ts";

/**
 * Copies the new entries of a log into a folder, and reports to the output.
 * @returns the exit status
 * @throws StateError if the folder cannot be used
 */
export async function mirror(options: MirrorArguments, output: MirrorOutput, signal: AbortSignal): Promise<number> {
  const { url, key } = options;
  const begun = performance.now();
  const folder = new MirrorFolder(resolve(options.folder));
  const known = await openFolder(folder, key);
  const from = known.tree?.size ?? 0;
  let log: SignedLog | undefined;
  let outcome = good;
  try {
    log = await openLog(url, known, signal);
    if (known.key === undefined) output.unpinned(log.key);
    if (log.tree.size > from) await update(folder, log, from, output);
  } catch (error) {
    outcome = outcomeOf(error, signal);
  }
  output.end({
    ...outcome,
    url,
    dir: folder.path,
    origin: log?.key.name ?? null,
    vkey: log === undefined ? null : formatVkey(log.key),
    from,
    to: outcome.ok ? (log as SignedLog).tree.size : from,
    root: outcome.ok ? (log as SignedLog).checkpoint.root : null,
    durationMs: performance.now() - begun,
  });
  return outcome.status;
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

/** A Stoa has its log below its root address. A mirror may be anywhere. */
async function openLog(url: string, known: KnownLog, signal: AbortSignal): Promise<SignedLog> {
  for (const address of [`${url}/log`, url]) {
    const log = await SignedLog.open(new LogSource(address, signal), known, signal);
    if (log !== undefined) return log;
  }
  if (known.tree !== undefined) throw new LogFinding("gone", "there is no log at this address any more");
  throw new StoaError("unusable", "there is no log at this address");
}

async function update(folder: MirrorFolder, log: SignedLog, from: number, output: MirrorOutput): Promise<void> {
  await folder.prepare();
  try {
    const { size } = log.tree;
    await copyTree(log, folder, from, (entries) => output.progress(entries, size - from));
    await folder.publish(log.note, from, size);
  } finally {
    await folder.close();
  }
}
