import type { Database } from "../database/database.ts";
import type { Tx } from "../database/queryable.ts";
import { insertLogEntries } from "./log-entries.ts";
import { advanceLogHead, type LogTree } from "./log-head.ts";
import { insertLogIdentity, type LogIdentity } from "./log-identity.ts";
import { growLogTile } from "./log-tiles.ts";

/** The tree of no entries. Its root is the SHA-256 of nothing. */
const emptyLogTree: LogTree = {
  size: 0,
  root: Buffer.from("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "hex"),
  acts: 0,
  receipts: 0,
};

/** The position of an import that has not begun. */
export const importStart = "agent 0";

/**
 * Begins the log with its first entry. Replicas may try at the same time: the transaction of one succeeds.
 * @param entry the entry of type `log`
 * @param leaf its hash, 32 bytes, which is the root of its tree
 * @returns false, and nothing is changed, if there is a log
 */
export async function beginLog(
  tx: Tx,
  identity: Omit<LogIdentity, "imported">,
  entry: string,
  leaf: Buffer,
): Promise<boolean> {
  if (!(await insertLogIdentity(tx, { ...identity, imported: importStart }))) return false;
  if (!(await advanceLogHead(tx, emptyLogTree, { ...emptyLogTree, size: 1, root: leaf }))) {
    throw new Error("The database has entries of a log, and no log.");
  }
  await insertLogEntries(tx, 0, [{ item: "log", item_id: 0, entry }]);
  await growLogTile(tx, { level: 0, index: 0, from: 0, hashes: leaf });
  return true;
}

/** Removes every entry, all tiles and the outbox. Nothing may be added meanwhile, and nothing of it can be rolled back. */
export async function truncateLog(db: Database, signal: AbortSignal): Promise<void> {
  // The triggers of the entries do not run: the account must be one that may drop tables. The tiles go first, because a
  // recovery looks at them: it must not go on with a log whose entries are gone.
  for (const table of ["log_tiles", "log_entries", "log_outbox"]) await db.runDdl(signal, `TRUNCATE TABLE ${table}`);
}

/** Ends the log, whose entries are gone, so that another one can begin in the same transaction. */
export async function endLog(tx: Tx): Promise<void> {
  await tx.run("DELETE FROM log_identity WHERE id = 1");
  await tx.run(
    "UPDATE log_head SET size = 0, root = ?, acts = 0, receipts = 0, signed = 0, note = NULL, restored = 0 WHERE id = 1",
    [emptyLogTree.root],
  );
}
