import type { Database } from "../store/database/database.ts";
import { beginLog, importStart } from "../store/tables/log-beginning.ts";
import { type LogIdentity, readLogIdentity } from "../store/tables/log-identity.ts";
import { toUtf8 } from "../tlog/encoding.ts";
import type { LogEntry } from "../tlog/entries/entry.ts";
import { formatEntry } from "../tlog/entries/entry-text.ts";
import { formatVkey } from "../tlog/notes/key.ts";
import type { SignerKey } from "../tlog/notes/signer-key.ts";
import { treeHasher } from "./crypto.ts";

/** How far ahead the beginning is set if there are replicas, in milliseconds. By then all of them have seen the log. */
const beginDelayMs = 60_000;

export interface BeginOptions {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  /** Whether other replicas may be serving that do not know of the log yet. */
  hasReplicas: boolean;
  signal: AbortSignal;
}

/**
 * Begins the log of a key. If several replicas try at the same time, one of them begins it.
 * @returns the log that there is now, which may be that of another key
 */
export async function begin(key: SignerKey, options: BeginOptions): Promise<LogIdentity> {
  const { db, signal } = options;
  const { identity, entry, leaf } = firstEntry(key, options);
  await db.transaction(signal, (tx) => beginLog(tx, identity, entry, leaf));
  return (await readLogIdentity(db.reader(signal))) as LogIdentity;
}

/**
 * The identity and the first entry of a new log, with the hash of that leaf.
 * @param previous the log that it replaces
 */
export function firstEntry(
  key: SignerKey,
  { now, hasReplicas }: Pick<BeginOptions, "now" | "hasReplicas">,
  previous?: LogEntry["previous"],
): { identity: Omit<LogIdentity, "imported">; entry: string; leaf: Buffer } {
  const beginsAt = now() + (hasReplicas ? beginDelayMs : 0);
  const vkey = formatVkey(key);
  const ts = new Date(beginsAt).toISOString();
  const entry = formatEntry({ type: "log", ts, origin: key.name, vkey, ...(previous && { previous }) });
  return { identity: { origin: key.name, vkey, beginsAt }, entry, leaf: Buffer.from(treeHasher.leaf(toUtf8(entry))) };
}

/**
 * From when on the writes of a replica that has just seen a log add entries to it, in milliseconds since 1970 (UTC). The clock
 * may have been ahead when the log began. Then it must not hold up the log once it is right.
 */
export function writesFrom({ beginsAt, imported }: LogIdentity, now: number): number {
  // The import begins later than the writes.
  return imported === importStart ? Math.min(beginsAt, now + beginDelayMs) : 0;
}

/**
 * Compares the operator's settings with the log that there is.
 * @param origin STOA_LOG_ORIGIN, if it is set
 * @param key the key that this replica has, if it has one
 * @returns one line on what is wrong; undefined if nothing is
 */
export function findWrongSetting(
  log: LogIdentity,
  origin: string | undefined,
  key: SignerKey | undefined,
): string | undefined {
  if (origin !== undefined && origin !== log.origin) {
    return `STOA_LOG_ORIGIN is ${origin}, but this log began as ${log.origin}, which cannot change.`;
  }
  if (key === undefined || formatVkey(key) === log.vkey) return undefined;
  return (
    `The key file of the log is of ${formatVkey(key)}, and this log began with ${log.vkey}. The key of a log cannot change:` +
    " restore its key file, or leave this replica without one."
  );
}
