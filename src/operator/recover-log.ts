import { resolve } from "node:path";
import { exitStatus } from "../cli/command.ts";
import { sha256 } from "../log/crypto.ts";
import { LogFolder } from "../log/folder/log-folder.ts";
import { FolderDamage } from "../log/folder/segments.ts";
import { readKey } from "../log/key-file.ts";
import { beginAgain, recoverLog } from "../log/recovery/recover-log.ts";
import { type LogSource, namedKey, openSource, sourceOf } from "../log/recovery/sources.ts";
import type { Database } from "../store/database/database.ts";
import { readLogHead } from "../store/tables/log-head.ts";
import { readLogIdentity } from "../store/tables/log-identity.ts";
import { equalBytes } from "../tlog/encoding.ts";
import { type NoteKey, parseVkey } from "../tlog/notes/key.ts";
import type { OperatorContext } from "./command.ts";
import { checkMigrated, withDatabase } from "./database.ts";

interface RecoveryArguments {
  /** A log folder or a mirror. */
  from: string | undefined;
  /** Whether the operator states that nothing newer was published. */
  asIs: boolean;
  json: boolean;
}

/** How long one statement may take, in milliseconds. */
const timeoutMs = 60_000;
/** A line tells the progress after so many entries. */
const progressEntries = 10_000;

/** Puts published entries that the database has lost back into it. @returns the exit status */
export function runLogRecovery(context: OperatorContext, { from, asIs, json }: RecoveryArguments): Promise<number> {
  return withDatabase(context, { writes: true, connections: 2, timeoutMs }, async (db) => {
    const { config, signal, note } = context;
    await checkMigrated(db, signal);
    const identity = await readLogIdentity(db.reader(signal));
    const path = resolve(config.dataDir, "log");
    const key = identity
      ? await parseVkey(identity.vkey, sha256)
      : ((await readKey(path, config.boardLog.keyText)) ?? (await namedKey(path)));
    if (key === undefined) {
      // The operator says that there never was a log. What this replica has must not contradict that.
      if (asIs && from === undefined && !(await LogFolder.isOfLog(path))) {
        await recover(db, undefined, json, context);
        return exitStatus.done;
      }
      throw new Error(
        "the database has no log. If it has lost one, run the command on a replica that has the log's key or its folder. If" +
          " there never was one, add --as-is, and leave out --from",
      );
    }
    const own = await openOwn(path, key);
    const sources: LogSource[] = [];
    try {
      if (own.source !== undefined) sources.push(own.source);
      if (own.damage !== undefined) note(`the log folder is damaged: ${own.damage}`);
      // If both have the same tree, the named one is read: the folder's entries may be damaged.
      if (from !== undefined) sources.unshift(await openSource(pathOf(from, context), key, signal));
      await checkNewest(db, own.source, asIs, signal);
      const [newest, other] = sources.toSorted((a, b) => b.tree.size - a.tree.size);
      if (newest !== undefined && other !== undefined) await checkAgree(newest, other);
      if (identity === undefined) {
        if (newest !== undefined) await beginAgain(newest, { db, now: Date.now, signal });
        else if (own.damage !== undefined)
          throw new Error("the database has no log, and this folder cannot give it one");
      }
      await recover(db, newest, json, context);
    } finally {
      for (const source of sources) source.close();
    }
    // The database has everything that was published. The replica will copy it into a new folder.
    if (own.damage !== undefined) await LogFolder.discard(path);
    return exitStatus.done;
  });
}

async function recover(
  db: Database,
  newest: LogSource | undefined,
  json: boolean,
  { out, note, signal }: OperatorContext,
): Promise<void> {
  let told = 0;
  const onProgress = (done: number, all: number) => {
    if (done < told + progressEntries) return;
    told = done;
    note(`put back ${done} of ${all} entries`);
  };
  const done = await recoverLog(newest, { db, now: Date.now, signal, onProgress });
  const source = newest?.name ?? null;
  if (json) {
    const { from, to } = done.kind === "put_back" ? done : { from: null, to: null };
    const { size } = await readLogHead(db.reader(signal));
    out(JSON.stringify({ ok: true, size, source, from, to }));
    return;
  }
  if (done.kind === "complete" && done.size === 0) {
    out("the database has no log: a start with a key begins one");
    return;
  }
  if (done.kind === "complete") out(`the log is complete: the database has its ${done.size} entries`);
  else {
    const count = done.to - done.from;
    out(`put back the entries ${done.from} to ${done.to - 1} from ${source}: ${count} in all`);
    out("their posts, comments and agents stay lost, and the log says so in one more entry");
  }
  out("replicas go on with the log within seconds");
}

/**
 * Opens the log folder of this replica.
 * @returns what is wrong with it as `damage`. Its entries then cannot be read
 * @throws DataFolderInUse; Error of the file system
 */
async function openOwn(
  path: string,
  key: NoteKey,
): Promise<{ source?: LogSource | undefined; damage?: string | undefined }> {
  try {
    const folder = await LogFolder.open(path, key);
    if (folder.tree !== undefined) return { source: sourceOf(folder, folder.tree) };
    folder.close();
    return {};
  } catch (error) {
    if (!(error instanceof FolderDamage)) throw error;
    const { tree, message: damage } = error;
    if (tree === undefined) return { damage };
    const fail = (): never => {
      throw new Error(
        `entries are lost, and the log folder is damaged (${damage}); name a mirror of its ${tree.size} entries with --from`,
      );
    };
    return { damage, source: { name: path, tree, rangeOf: async () => fail(), entries: fail, close: () => {} } };
  }
}

/**
 * Refuses if something newer may have been published: a folder that is older than the database does not prove that
 * nothing was, and neither does a mirror.
 * @throws Error with one line
 */
async function checkNewest(
  db: Database,
  own: LogSource | undefined,
  asIs: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { signed } = await readLogHead(db.reader(signal));
  if (asIs || (own !== undefined && own.tree.size >= signed)) return;
  const has = own === undefined ? "has no checkpoint" : `has a checkpoint of ${own.tree.size} entries`;
  throw new Error(
    `this log folder ${has}, and the database one of ${signed}; a newer one may have been published. Run the command with the` +
      " data folder of a replica that has it, or add --as-is if you know that there is none",
  );
}

/** @throws Error with one line if two published trees contradict each other */
async function checkAgree(newest: LogSource, other: LogSource): Promise<void> {
  const range = await newest.rangeOf(other.tree.size);
  if (equalBytes(range.root(), other.tree.root)) return;
  throw new Error(`${newest.name} and ${other.name} have different trees of ${other.tree.size} entries`);
}

/** A relative path starts in the user's folder. */
function pathOf(from: string, { folder }: OperatorContext): string {
  return /^https?:\/\//.test(from) ? from : resolve(folder, from);
}
