import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { notFound, StoaError, StoredDamage } from "../../errors.ts";
import type { Database, LookUp } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { findLogEntry, type LogEntryRow, listLogEntries, listLogEntriesOf } from "../../store/tables/log-entries.ts";
import { readLogTiles, type TileName } from "../../store/tables/log-tiles.ts";
import { equalBytes, toHex, toUtf8 } from "../../tlog/encoding.ts";
import { TlogError } from "../../tlog/error.ts";
import { formatBundle } from "../../tlog/tiles/bundle.ts";
import { proveInclusion } from "../../tlog/tiles/prove.ts";
import { type Bundle, formatTilePath, fullWidth, parseTilePath, type Tile } from "../../tlog/tiles/tile-path.ts";
import type { TileTree } from "../../tlog/tiles/tile-tree.ts";
import { TiledTree } from "../../tlog/tiles/tiled-tree.ts";
import { hashBytes } from "../../tlog/tree/hashing.ts";
import { sha256, treeHasher } from "../crypto.ts";
import type { SignedTree } from "../folder/segments.ts";
import { firstHashes } from "../publisher/extend.ts";
import type { PublishedTree, Waiter } from "../publisher/published-tree.ts";

/** How many full tiles are kept: a tile has 16 KiB with its inner hashes, so these are 4 MiB. */
const maxTiles = 256;
/** For how many other full tiles the upper halves are kept: some 5 MiB, for proofs of 1,000,000 entries. */
const maxUpperHalves = 4_096;
/** For how many full tiles the hash of their bytes is kept. These hashes take some 3 MiB, and cover 4,000,000 entries. */
const maxVerified = 16_384;
/** How many tiles one statement reads for several callers: 128 KiB. */
const maxAtOnce = 16;
/** How long a request waits for a tile that is not published here yet, in milliseconds. */
const waitMs = 1_000;
/** How many entries a replica may be behind the others. Requests for entries beyond that do not wait. */
const maxBehind = 65_536;

export interface EntryPage {
  /** How many entries the tree has. */
  size: number;
  entries: { index: number; entry: string; leafHash: string }[];
  /** Where the next page begins; undefined on the last one. */
  nextFrom: number | undefined;
}

/** The tree that is published here, as tiles. Tiles, bundles and proofs are given only if they lead to the signed root. */
export class PublishedTiles {
  readonly #db: Database;
  readonly #published: PublishedTree;
  readonly #stopping: AbortSignal;
  readonly #find: LookUp<TileName, Uint8Array>;
  readonly #cache = new LRUCache<string, TileTree>({ max: maxTiles });
  readonly #upperHalves = new LRUCache<string, TileTree>({ max: maxUpperHalves });
  /** SHA-256 of the bytes of full tiles that were verified, by their paths. */
  readonly #verified = new LRUCache<string, string>({ max: maxVerified });
  #opened: { tree: SignedTree; tiles: Promise<TiledTree> } | undefined;

  /** @param stopping aborts when the service stops */
  constructor(db: Database, published: PublishedTree, stopping: AbortSignal) {
    this.#db = db;
    this.#published = published;
    this.#stopping = stopping;
    this.#find = db.lookUp(maxAtOnce, readLogTiles);
  }

  /** The newest tree. @throws StoaError `unavailable` before the first */
  get tree(): SignedTree {
    const { tree } = this.#published;
    if (tree === undefined) {
      throw new StoaError("unavailable", "The log is not published here yet.", { retryAfterSeconds: 1 });
    }
    return tree;
  }

  /**
   * The bytes of a tile or a bundle.
   * @param path after `tile/`
   * @throws StoaError `not_found` for a malformed path, or one that is not in the tree after a second; `rate_limited`;
   * `unavailable`
   */
  async read(path: string, waiter: Waiter): Promise<{ bytes: Uint8Array; isBundle: boolean }> {
    const tile = parse(path);
    const { width } = tile;
    const level = tile.level === "entries" ? 0 : tile.level;
    const needed = (tile.index * fullWidth + width) * fullWidth ** level;
    const { size } = this.#published;
    const mayCome = needed <= size + maxBehind;
    if (needed > size && !(mayCome && (await this.#published.exceeds(needed - 1, waitMs, waiter)))) {
      // Before the first tree nobody knows what the log has.
      const { size: newest } = this.tree;
      throw notFound(`The published tree has ${newest} entries, and not this tile.`);
    }
    return verified(async () => {
      const hashes = await this.#hashesOf(waiter.signal, level, tile.index);
      if (tile.level !== "entries") return { bytes: hashes.subarray(0, width * hashBytes), isBundle: false };
      const db = this.#db.reader(waiter.signal);
      const rows = await listLogEntries(db, tile.index * fullWidth, width);
      return { bytes: formatBundle(checkEntries(rows, tile, hashes)), isBundle: true };
    });
  }

  /** The verified hashes of a tile. To verify a full one takes 255 hashes. Later, the hash of its bytes is compared instead. */
  async #hashesOf(signal: AbortSignal, level: number, index: number): Promise<Uint8Array> {
    const full = { level, index, width: fullWidth };
    const path = formatTilePath(full);
    const known = this.#verified.get(path);
    if (known !== undefined) {
      const bytes = await this.#read(signal, full);
      if (hash("sha256", bytes) === known) return bytes;
    }
    const tile = await (await this.#open(this.tree)).tile(level, index);
    if (tile.width === fullWidth && known === undefined) this.#verified.set(path, hash("sha256", tile.bytes));
    return tile.bytes;
  }

  /**
   * Proves that an entry stands in the newest tree.
   * @returns the hashes of the proof, and the tree
   * @throws StoaError `unavailable` if the entry or the tiles are not those of the tree
   */
  prove({ idx, entry }: LogEntryRow): Promise<{ hashes: Uint8Array[]; tree: SignedTree }> {
    const { tree } = this;
    return verified(async () => {
      const tiles = await this.#open(tree);
      // At the same time, so that they share what is read.
      const [leaf, hashes] = await Promise.all([tiles.subtree({ height: 0, index: idx }), proveInclusion(tiles, idx)]);
      if (!equalBytes(leaf, treeHasher.leaf(toUtf8(entry)))) throw damagedEntry(idx);
      return { hashes, tree };
    });
  }

  /**
   * Published entries from an index on, as they are stored. Only their proofs show that they are those of the tree.
   * @param of the item that they are about; by default any
   * @throws StoaError `unavailable` if the database lacks entries of the tree
   */
  async list(db: Queryable, from: number, limit: number, of?: { item: string; id: number }): Promise<EntryPage> {
    const { size } = this.#published;
    const rows =
      of === undefined
        ? await listLogEntries(db, from, limit + 1)
        : await listLogEntriesOf(db, of.item, of.id, from, limit + 1);
    const published = rows.filter(({ idx }) => idx < size);
    if (of === undefined) checkGapless(published, from, Math.min(size, from + limit + 1));
    else if (rows.length <= limit) await this.#checkWhole(db);
    const entries = published.slice(0, limit).map(({ idx, entry }) => ({
      index: idx,
      entry,
      leafHash: toHex(treeHasher.leaf(toUtf8(entry))),
    }));
    return { size, entries, nextFrom: published[limit]?.idx };
  }

  /**
   * The result of a look into the database. While that lacks what was published, as after a restore, nobody knows what was lost.
   * @throws StoaError `unavailable` instead of `not_found` then; what the look throws
   */
  async unlessLost<Result>(db: Queryable, look: Promise<Result>): Promise<Result> {
    try {
      return await look;
    } catch (error) {
      if (error instanceof StoaError && error.code === "not_found") await this.#checkWhole(db);
      throw error;
    }
  }

  /** @throws StoredDamage if the database lacks the newest entry of the tree */
  async #checkWhole(db: Queryable): Promise<void> {
    const { size } = this.#published;
    if (size > 0 && (await findLogEntry(db, size - 1)) === undefined) throw damagedEntry(size - 1);
  }

  /** Reads the hashes of a tile as they are stored. @throws StoredDamage */
  async #read(signal: AbortSignal, tile: Tile): Promise<Uint8Array> {
    return firstHashes(await this.#find(signal, `${tile.level}/${tile.index}`), tile);
  }

  /** The tiles of a tree. Requests share those of the newest tree, so the end of a request must not stop a read. */
  #open(tree: SignedTree): Promise<TiledTree> {
    if (this.#opened?.tree !== tree) {
      const read = (tile: Tile) => this.#read(this.#stopping, tile);
      const tiles = TiledTree.open(tree, read, sha256, this.#cache, this.#upperHalves);
      const opened = { tree, tiles };
      this.#opened = opened;
      tiles.catch(() => {
        if (this.#opened === opened) this.#opened = undefined;
      });
    }
    return this.#opened?.tiles as Promise<TiledTree>;
  }
}

/** @throws StoaError `not_found` */
function parse(path: string): Tile | Bundle {
  try {
    return parseTilePath(`tile/${path}`);
  } catch (error) {
    if (error instanceof TlogError) throw notFound("There is no tile with this path.");
    throw error;
  }
}

/** Compares entries of the database with the hashes of their tile. @returns their bytes. @throws StoredDamage */
function checkEntries(rows: readonly LogEntryRow[], { index, width }: Bundle, hashes: Uint8Array): Uint8Array[] {
  const first = index * fullWidth;
  if (rows.length < width) throw damagedEntry(first + rows.length);
  return rows.map(({ idx, entry }, at) => {
    const bytes = toUtf8(entry);
    const expected = hashes.subarray(at * hashBytes, (at + 1) * hashBytes);
    if (idx !== first + at || !equalBytes(treeHasher.leaf(bytes), expected)) throw damagedEntry(first + at);
    return bytes;
  });
}

/** Checks that no row from an index to before another is missing. @throws StoredDamage */
function checkGapless(rows: readonly LogEntryRow[], from: number, to: number): void {
  for (let index = from; index < to; index++) if (rows[index - from]?.idx !== index) throw damagedEntry(index);
}

/** The error for an entry that is missing from the database, or differs from the published one. */
export function damagedEntry(index: number): StoredDamage {
  return new StoredDamage(`Entry ${index} of the log is not the one that was published; stoa fsck says more.`);
}

/** Runs work that verifies tiles. @throws StoredDamage for tiles that do not verify */
async function verified<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TlogError)) throw error;
    throw new StoredDamage(`The tiles of the log in the database are damaged: ${error.message}.`, error);
  }
}
