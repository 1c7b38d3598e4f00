import { beginLog, endLog, truncateLog } from "../../store/tables/log-beginning.ts";
import { putLogRestored } from "../../store/tables/log-head.ts";
import { forgetSalts, saltedTables } from "../../store/tables/salted-rows.ts";
import type { LogEntry } from "../../tlog/entries/entry.ts";
import type { SignerKey } from "../../tlog/notes/signer-key.ts";
import { type BeginOptions, firstEntry } from "../beginning.ts";

/** How many ids one transaction goes through. */
const portion = 1_000;

/**
 * Ends the log of the database, and begins another one with a new name and a new key. Later, the import adds all texts that
 * stand. All replicas must have been stopped. If this is interrupted, the log is frozen, and it can be run again.
 * @param previous the log that it replaces, as it was published last; undefined if that was never published
 * @param archive moves what this replica has published of it aside
 * @throws TlogError `bad_entry` if the names are too long, before anything is changed
 */
export async function beginAnew(
  key: SignerKey,
  previous: LogEntry["previous"],
  options: BeginOptions,
  archive: () => Promise<void>,
): Promise<void> {
  const { db, signal } = options;
  // Nothing is lost if this throws.
  const { identity, entry, leaf } = firstEntry(key, options, previous);
  await db.transaction(signal, (tx) => putLogRestored(tx, true));
  for (const table of saltedTables) {
    for (let after = 0, last = 1; after < last; after += portion) {
      last = await db.transaction(signal, (tx) => forgetSalts(tx, table, after, after + portion));
    }
  }
  await truncateLog(db, signal);
  // Once the new log has begun, its replica must not find the folder of the old one.
  await archive();
  await db.transaction(signal, async (tx) => {
    await endLog(tx);
    await beginLog(tx, identity, entry, leaf);
  });
}
