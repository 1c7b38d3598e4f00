// A log that was published, and the database as a restored backup has it.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { formatBundle } from "../../src/tlog/tiles/bundle.ts";
import { type Bundle, formatTilePath, fullWidth, type Tile } from "../../src/tlog/tiles/tile-path.ts";
import { widthAt } from "../../src/tlog/tiles/widths.ts";
import { type Outcome, operateWith } from "../operator/support.ts";
import { faultsOfLog } from "../support/log.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { GrowingLog, never } from "./support.ts";

export interface Board {
  log: GrowingLog;
  dataDir: string;
  recover(...args: string[]): Promise<Outcome>;
  /** The entries with their types, from an index on. */
  types(from: number): Promise<string[]>;
}

/** A log of 600 entries that is published, with the folder of its replica. */
export async function publishedLog(): Promise<Board> {
  const log = await GrowingLog.begin();
  const dataDir = scratchFolder();
  const publisher = await log.publisher(join(dataDir, "log"));
  await publisher.publish(never, await log.grow(599));
  await publisher.stop();
  return {
    log,
    dataDir,
    recover: (...args) =>
      operateWith({ STOA_DATABASE_URL: urlOf(log.test.config), STOA_DATA_DIR: dataDir }, ["recover", "--log", ...args]),
    async types(from) {
      const rows = await log.test.rows<{ entry: string }>("SELECT entry FROM log_entries WHERE idx >= ? ORDER BY idx", [
        from,
      ]);
      return rows.map(({ entry }) => JSON.parse(entry).type);
    },
  };
}

/** Makes the database what a restored backup of `size` entries is. */
export async function restoreBackup({ log }: Board, size: number): Promise<void> {
  const [tiles] = [await log.test.rows<{ level: number; n: number; hashes: Buffer }>("SELECT * FROM log_tiles")];
  await log.rollBack(size, { signed: 0, note: null });
  for (const { level, n } of tiles) {
    const width = widthAt(level, n, size);
    if (width === 0) await log.test.rows("DELETE FROM log_tiles WHERE level = ? AND n = ?", [level, n]);
    else
      await log.test.rows("UPDATE log_tiles SET hashes = LEFT(hashes, ?) WHERE level = ? AND n = ?", [
        32 * width,
        level,
        n,
      ]);
  }
  await log.test.rows("UPDATE log_head SET restored = 1");
}

/** Copies what was published as a mirror has it. */
export async function mirror({ log }: Board, note: string, size: number): Promise<string> {
  const path = scratchFolder();
  const write = (tile: Tile | Bundle, bytes: Uint8Array) => {
    const file = join(path, formatTilePath(tile));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  };
  const tiles = await log.test.rows<{ level: number; n: number; hashes: Buffer }>(
    "SELECT level, n, hashes FROM log_tiles",
  );
  for (const { level, n, hashes } of tiles) {
    const width = widthAt(level, n, size);
    if (width > 0) write({ level, index: n, width }, hashes.subarray(0, 32 * width));
  }
  const rows = await log.test.rows<{ entry: string }>("SELECT entry FROM log_entries ORDER BY idx");
  for (let index = 0; index * fullWidth < size; index++) {
    const width = widthAt(0, index, size);
    const entries = rows.slice(index * fullWidth, index * fullWidth + width).map(({ entry }) => Buffer.from(entry));
    write({ level: "entries", index, width }, formatBundle(entries));
  }
  writeFileSync(join(path, "checkpoint"), note);
  return path;
}

/** A log whose folder is lost, and its database the restored backup of `size` entries. @returns also a mirror of all 600 */
export async function lostFolder(size: number): Promise<Board & { copy: string }> {
  const board = await publishedLog();
  const copy = await mirror(board, (await board.log.head()).note as string, 600);
  rmSync(join(board.dataDir, "log"), { recursive: true });
  await restoreBackup(board, size);
  return { ...board, copy };
}

/** Checks that the log goes on from `size` entries, signed by its replica, with sound tiles. */
export async function expectToGoOn({ log, dataDir }: Board, size: number): Promise<void> {
  await log.reload();
  const publisher = await log.publisher(join(dataDir, "log"));
  await publisher.publish(never);
  expect([publisher.obstacle, publisher.tree?.size]).toEqual([undefined, size]);
  await publisher.publish(never, await log.grow(3));
  expect((await log.head()).signed).toBe(size + 3);
  await publisher.stop();
  const faults = await faultsOfLog(log.test, { isImported: false });
  expect(faults.filter((fault) => !/receipt/.test(fault))).toEqual([]);
}
