import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { beginLog } from "../../store/tables/log-beginning.ts";
import { insertLogEntries, listLogEntries, type NewLogEntry } from "../../store/tables/log-entries.ts";
import { advanceLogHead, type LogHead, putLogNote, putLogRestored, readLogHead } from "../../store/tables/log-head.ts";
import { growLogTile } from "../../store/tables/log-tiles.ts";
import { findReceipt } from "../../store/tables/receipts.ts";
import { equalBytes, fromUtf8, toUtf8 } from "../../tlog/encoding.ts";
import { entryBytes, parseEntry } from "../../tlog/entries/entry-text.ts";
import { TlogError } from "../../tlog/error.ts";
import { appendToTiles } from "../../tlog/tiles/growth.ts";
import { TiledTree } from "../../tlog/tiles/tiled-tree.ts";
import { CompactRange } from "../../tlog/tree/compact-range.ts";
import type { Tree } from "../../tlog/tree/proofs.ts";
import { sha256, treeHasher } from "../crypto.ts";
import { itemOf } from "../item-of-entry.ts";
import { readTile } from "../publisher/extend.ts";
import type { LogSource } from "./sources.ts";

/** What a recovery has done. */
export type Recovered =
  /** The database has everything that was published. */
  | { kind: "complete"; size: number }
  /** The entries from `from` to before `to` were put back; their rows stay lost. */
  | { kind: "put_back"; from: number; to: number };

export interface RecoverOptions {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  signal: AbortSignal;
  /** Is told how many of the lost entries are put back. */
  onProgress?: ((done: number, all: number) => void) | undefined;
}

/** How many entries one transaction stores at most. */
const maxStored = 1_024;

/**
 * Brings a database up to a published tree, so that the log goes on without a fork. It signs nothing. If it is interrupted,
 * it can be run again: entries beyond the head do not count.
 * @param source has the newest tree that was published; undefined if the operator says that the database has it
 * @throws Error with one line if the database contradicts the published tree: then nothing is changed
 */
export async function recoverLog(source: LogSource | undefined, options: RecoverOptions): Promise<Recovered> {
  const { db, signal } = options;
  const head = await readLogHead(db.longReader(signal));
  const isRoot = await openTree(db, head, signal);
  if (source === undefined || (source.tree.size <= head.size && (await isRoot(source.tree)))) {
    await db.transaction(signal, async (tx) => {
      if (source !== undefined) await putLogNote(tx, source.tree.size, fromUtf8(source.tree.note) as string);
      await putLogRestored(tx, false);
    });
    return { kind: "complete", size: head.size };
  }
  const { tree, name } = source;
  const range = await source.rangeOf(Math.min(head.size, tree.size));
  if (tree.size <= head.size || !equalBytes(range.root(), head.root)) {
    throw new Error(
      `the database has another tree of ${Math.min(head.size, tree.size)} entries than ${name}: this log cannot go on with both`,
    );
  }
  const lost = { from: head.size, to: tree.size };
  await checkEntries(source, range, lost);
  // From here on no replica adds anything.
  await db.transaction(signal, (tx) => putLogRestored(tx, true));
  for await (const part of inParts(source.entries(lost.from, lost.to))) {
    await store(range, part, options);
    options.onProgress?.(range.size - lost.from, lost.to - lost.from);
  }
  await adopt(head, range, source, lost, options);
  return { kind: "put_back", ...lost };
}

/**
 * Begins a log again that the database lacks because it was restored from a backup from before. It stays frozen until
 * `recoverLog` has put back the other entries.
 * @throws Error with one line if the source does not have every entry, or is of another board; FolderDamage
 */
export async function beginAgain(source: LogSource, { db, signal }: RecoverOptions): Promise<void> {
  await checkEntries(source, new CompactRange(treeHasher), { from: 0, to: source.tree.size });
  await checkBoard(source, db.longReader(signal));
  for await (const [bytes = new Uint8Array()] of source.entries(0, 1)) {
    const entry = parseEntry(bytes);
    if (entry.type !== "log") throw new Error(`${source.name} does not begin with the entry of a log`);
    const identity = { origin: entry.origin, vkey: entry.vkey, beginsAt: Date.parse(entry.ts) };
    const [text, leaf] = [fromUtf8(bytes) as string, Buffer.from(treeHasher.leaf(bytes))];
    await db.transaction(signal, async (tx) => {
      if (!(await beginLog(tx, identity, text, leaf))) throw new Error("a log has begun meanwhile: stop all replicas");
      await putLogRestored(tx, true);
    });
  }
}

/**
 * Opens the tree of the database.
 * @returns a function that says whether the tree begins with another one, which must not be larger
 * @throws Error with one line if its tiles are not those of its head
 */
async function openTree(db: Database, head: LogHead, signal: AbortSignal): Promise<(tree: Tree) => Promise<boolean>> {
  const reader = db.longReader(signal);
  const checked = async <Result>(work: Promise<Result>) =>
    work.catch((error) => {
      if (!(error instanceof TlogError)) throw error;
      throw new Error(`the tiles of the log are damaged (${error.message}); run stoa fsck --repair first`);
    });
  const tiles = await checked(TiledTree.open(head, (tile) => readTile(reader, tile), sha256));
  return async ({ size, root }) => equalBytes(await checked(tiles.root(size)), root);
}

/** @throws Error with one line if the entries of a source do not lead to its tree */
async function checkEntries(source: LogSource, range: CompactRange, { from, to }: { from: number; to: number }) {
  const whole = range.clone();
  for await (const entries of source.entries(from, to)) whole.appendAll(entries);
  if (whole.size === to && equalBytes(whole.root(), source.tree.root)) return;
  throw new Error(`${source.name} does not have the entries of its checkpoint`);
}

/** @throws Error with one line if receipt 1 of the log is not that of the database: then the log is of another board */
async function checkBoard(source: LogSource, db: Queryable): Promise<void> {
  const first = await findReceipt(db, 1);
  for await (const entries of source.entries(0, source.tree.size)) {
    for (const bytes of entries) {
      const entry = parseEntry(bytes);
      if (entry.type !== "receipt" || entry.seq !== 1) continue;
      if (entry.hash === first?.hash) return;
      throw new Error(`${source.name} has the log of another board`);
    }
  }
}

/** Stores entries and their tiles behind the head, unless an interrupted recovery has stored them. */
async function store(range: CompactRange, entries: readonly Uint8Array[], { db, signal }: RecoverOptions) {
  const first = range.size;
  const growths = appendToTiles(range, entries);
  await db.transaction(signal, async (tx) => {
    const stored = await listLogEntries(tx, first, entries.length);
    const isStored = stored.every(
      ({ idx, entry }, at) => idx === first + at && equalBytes(toUtf8(entry), entries[at] as Uint8Array),
    );
    if (!isStored) throw new Error(`the database has other entries behind its head, from ${first} on`);
    await insertLogEntries(tx, first + stored.length, entries.slice(stored.length).map(rowOf));
    for (const growth of growths) await growLogTile(tx, growth);
  });
}

/** Moves the head to the published tree, stores its note, and adds the entry of the recovery. */
async function adopt(
  head: LogHead,
  range: CompactRange,
  { tree }: LogSource,
  { from, to }: { from: number; to: number },
  { db, now, signal }: RecoverOptions,
): Promise<void> {
  const entry = entryBytes({ type: "recovery", ts: new Date(now()).toISOString(), from, to });
  const whole = range.clone();
  const growths = appendToTiles(whole, [entry]);
  await db.transaction(signal, async (tx) => {
    const published = { ...head, size: tree.size, root: Buffer.from(tree.root) };
    const told = { ...head, size: whole.size, root: Buffer.from(whole.root()) };
    if (!(await advanceLogHead(tx, head, published))) throw new Error("the log has grown meanwhile: stop all replicas");
    await putLogNote(tx, tree.size, fromUtf8(tree.note) as string);
    await advanceLogHead(tx, published, told);
    await insertLogEntries(tx, to, [rowOf(entry)]);
    for (const growth of growths) await growLogTile(tx, growth);
    await putLogRestored(tx, false);
  });
}

/** Divides the steps of a source into parts for one transaction each. */
async function* inParts(steps: AsyncIterable<readonly Uint8Array[]>): AsyncGenerator<Uint8Array[]> {
  for await (const entries of steps) {
    for (let at = 0; at < entries.length; at += maxStored) {
      // The source may overwrite its entries at the next step.
      yield entries.slice(at, at + maxStored).map((entry) => Uint8Array.from(entry));
    }
  }
}

/** An entry with the item that it is about. */
function rowOf(bytes: Uint8Array): NewLogEntry {
  const { item, id } = itemOf(parseEntry(bytes)) ?? { item: "unknown", id: 0 };
  return { item, item_id: id, entry: fromUtf8(bytes) as string };
}
