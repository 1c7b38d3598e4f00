import type { Tx } from "../database/queryable.ts";

const dayMs = 86_400_000;

/**
 * Where each band of age ends, in milliseconds: band 0 holds the posts of the last day, and so on; the band after the
 * last of these holds all that are older. A post exactly as old as an end is still within.
 */
export const bandEndsMs: readonly number[] = [dayMs, 7 * dayMs, 30 * dayMs, 365 * dayMs];
export const oldestBand = bandEndsMs.length;

/** The most posts that one call of `moveToBands` locks. */
export const bandBatch = 200;
/**
 * Posts in a band too old for them, which a wrong clock put there, are moved back only when it was wrong by more than
 * this: replicas whose clocks differ a little do not move posts to and fro.
 */
export const bandToleranceMs = 3_600_000;

// Rows that a vote has locked are left for the next time: nobody waits for this while it waits for another.
const lockMisplaced = `SELECT id FROM posts FORCE INDEX (posts_band)
  WHERE age_band = ? AND (created_at < ? OR created_at >= ?) LIMIT ${bandBatch} FOR UPDATE SKIP LOCKED`;
const putBands = `UPDATE posts FORCE INDEX (PRIMARY) SET age_band = ${bandEndsMs.map(() => "(created_at < ?)").join(" + ")}
  WHERE id IN (${Array.from({ length: bandBatch }, () => "?").join(", ")})`;

/**
 * Moves up to `bandBatch` posts of `band` that belong to another at the time `now` to the one that they belong to. It
 * locks posts, passing over those that are locked, and nothing after them.
 * @returns how many were moved
 */
export async function moveToBands(tx: Tx, band: number, now: number): Promise<number> {
  const found = await tx.rows<{ id: number }>(lockMisplaced, [band, ...limitsOf(band, now)]);
  if (found.length === 0) return 0;
  const ids = Array.from({ length: bandBatch }, (_, i) => found[i]?.id ?? 0); // No post has the id 0.
  await tx.run(putBands, [...bandEndsMs.map((end) => now - end), ...ids]);
  return found.length;
}

/** The posts of a band were created at the first of these times or later, and before the second. */
function limitsOf(band: number, now: number): [number, number] {
  const oldest = now - (bandEndsMs[band] ?? Number.POSITIVE_INFINITY);
  const youngest = band === 0 ? Number.POSITIVE_INFINITY : now - (bandEndsMs[band - 1] as number) + bandToleranceMs;
  return [Math.max(oldest, Number.MIN_SAFE_INTEGER), Math.min(youngest, Number.MAX_SAFE_INTEGER)];
}
