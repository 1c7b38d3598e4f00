import type { Queryable, Tx } from "../database/queryable.ts";
import { inList } from "./id-lists.ts";

/** What a tile gains: `hashes`, of 32 bytes each, follow its first `from` hashes. */
export interface LogTileGrowth {
  level: number;
  index: number;
  from: number;
  hashes: Uint8Array;
}

/** What names a tile: its level and its index. */
export type TileName = `${number}/${number}`;

/** The hashes of the tiles that there are, of 32 bytes each. A tile may have more than a smaller tree has. */
export async function readLogTiles(db: Queryable, names: readonly TileName[]): Promise<ReadonlyMap<TileName, Buffer>> {
  const { list } = inList(names);
  const sql = `SELECT level, n, hashes FROM log_tiles WHERE ${list.map(() => "(level = ? AND n = ?)").join(" OR ")}`;
  const values = list.flatMap((name) => name.split("/").map(Number));
  const rows = await db.rows<{ level: number; n: number; hashes: Buffer }>(sql, values);
  return new Map(rows.map(({ level, n, hashes }) => [`${level}/${n}`, hashes]));
}

/** The hashes of a tile; undefined if there is no such tile. */
export async function readLogTile(db: Queryable, level: number, index: number): Promise<Buffer | undefined> {
  return (await readLogTiles(db, [`${level}/${index}`])).get(`${level}/${index}`);
}

/** Stores what a tile gains. A tile that lacks earlier hashes is damaged, and stays so until fsck repairs it. */
export async function growLogTile(tx: Tx, { level, index, from, hashes }: LogTileGrowth): Promise<void> {
  const bytes = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length);
  if (from === 0) {
    await putLogTile(tx, level, index, bytes);
    return;
  }
  const sql = "UPDATE log_tiles SET hashes = CONCAT(LEFT(hashes, ?), ?) WHERE level = ? AND n = ?";
  await tx.run(sql, [32 * from, bytes, level, index]);
}

/** Stores a tile as a whole. */
export async function putLogTile(tx: Tx, level: number, index: number, hashes: Buffer): Promise<void> {
  await tx.run("INSERT INTO log_tiles (level, n, hashes) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE hashes = ?", [
    level,
    index,
    hashes,
    hashes,
  ]);
}
