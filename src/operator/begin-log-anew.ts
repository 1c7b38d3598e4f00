import { join, resolve } from "node:path";
import { exitStatus } from "../cli/command.ts";
import { UsageError } from "../cli/usage.ts";
import { sha256, verifyEd25519 } from "../log/crypto.ts";
import { LogFolder } from "../log/folder/log-folder.ts";
import { FolderDamage } from "../log/folder/segments.ts";
import { readKey } from "../log/key-file.ts";
import { beginAnew } from "../log/recovery/begin-anew.ts";
import type { Database } from "../store/database/database.ts";
import { readLogHead } from "../store/tables/log-head.ts";
import { readLogIdentity } from "../store/tables/log-identity.ts";
import { toHex, toUtf8 } from "../tlog/encoding.ts";
import type { LogEntry } from "../tlog/entries/entry.ts";
import { openCheckpoint } from "../tlog/notes/checkpoint.ts";
import { formatVkey, type NoteKey, parseVkey } from "../tlog/notes/key.ts";
import type { SignerKey } from "../tlog/notes/signer-key.ts";
import type { Tree } from "../tlog/tree/proofs.ts";
import type { OperatorContext } from "./command.ts";
import { checkMigrated, withDatabase } from "./database.ts";

/**
 * Ends the log of the board, and begins another one.
 * @param origin the name of the new log
 * @returns the exit status
 */
export async function beginLogAnew(context: OperatorContext, origin: string, json: boolean): Promise<number> {
  const { config, signal, out } = context;
  const path = resolve(config.dataDir, "log");
  const key = await readKey(path, config.boardLog.keyText);
  return withDatabase(context, { writes: true, connections: 2 }, async (db) => {
    await checkMigrated(db, signal);
    const identity = await readLogIdentity(db.reader(signal));
    if (identity === undefined)
      throw new Error(
        "the database has no log: a start with a key begins one. If it has lost one, run recover --log first",
      );
    const before = await parseVkey(identity.vkey, sha256);
    const fresh = checkKey(key, origin, before);
    const archive = `before-${fresh.id}`;
    const newest = await newestTree(db, [path, join(path, archive)], before, signal);
    const previous: LogEntry["previous"] = newest && {
      origin: before.name,
      root: toHex(newest.root),
      size: newest.size,
      vkey: identity.vkey,
    };
    const options = { db, now: Date.now, hasReplicas: config.database !== undefined, signal };
    await beginAnew(fresh, previous, options, () => LogFolder.archive(path, archive));
    const [vkey, size] = [formatVkey(fresh), newest?.size ?? 0];
    if (json) {
      out(JSON.stringify({ ok: true, origin, vkey, previous: { origin: before.name, size } }));
      return exitStatus.done;
    }
    out(`the log ${before.name} has ended with ${size} published entries`);
    out(`the log ${origin} has begun: ${vkey}`);
    out("tell everybody the new key; other replicas need an empty log folder");
    return exitStatus.done;
  });
}

/** @throws UsageError */
function checkKey(key: SignerKey | undefined, origin: string, before: NoteKey): SignerKey {
  if (origin === before.name) throw new UsageError(`this log is ${origin} already; a new one needs a new name`);
  if (key?.name === origin) return key;
  throw new UsageError(
    `this replica has ${key === undefined ? "no key" : `the key of ${key.name}`}: first run keygen with STOA_LOG_ORIGIN=${origin}, ` +
      "and put the key in its place",
  );
}

/**
 * The newest published tree that is known from the note in the database, the log folder, or the archive to which an
 * interrupted run has moved that folder.
 * @throws DataFolderInUse
 */
async function newestTree(
  db: Database,
  paths: readonly string[],
  key: NoteKey,
  signal: AbortSignal,
): Promise<Tree | undefined> {
  const { note } = await readLogHead(db.reader(signal));
  const stored = note === null ? undefined : (await openCheckpoint(toUtf8(note), [key], verifyEd25519)).checkpoint;
  let newest: Tree | undefined = stored;
  for (const path of paths) {
    const tree = await treeOfFolder(path, key);
    if ((tree?.size ?? 0) >= (newest?.size ?? 0)) newest = tree;
  }
  return newest;
}

async function treeOfFolder(path: string, key: NoteKey): Promise<Tree | undefined> {
  try {
    const folder = await LogFolder.open(path, key);
    folder.close();
    return folder.tree;
  } catch (error) {
    if (error instanceof FolderDamage) return error.tree;
    throw error;
  }
}
