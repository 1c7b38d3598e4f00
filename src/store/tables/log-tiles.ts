import type { Queryable, Tx } from "../database/queryable.ts";

/** What a tile gains: `hashes`, of 32 bytes each, follow its first `from` hashes. */
export interface LogTileGrowth {
  level: number;
  index: number;
  from: number;
  hashes: Uint8Array;
}

/** The hashes of a tile, of 32 bytes each; undefined if there is no such tile. It may have more than a smaller tree has. */
export async function readLogTile(db: Queryable, level: number, index: number): Promise<Buffer | undefined> {
  const sql = "SELECT hashes FROM log_tiles WHERE level = ? AND n = ?";
  return (await db.rows<{ hashes: Buffer }>(sql, [level, index]))[0]?.hashes;
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
