import type { Tx } from "../database/queryable.ts";

const dayMs = 86_400_000;

/**
 * The greatest age in each band, in milliseconds: band 0 holds the posts of the last day, and so on. One more band holds all
 * older posts. A post exactly as old as an end is still in the band.
 */
export const bandEndsMs: readonly number[] = [dayMs, 7 * dayMs, 30 * dayMs, 365 * dayMs];
export const oldestBand = bandEndsMs.length;

/** How many posts one call of `moveToBands` locks at most. */
export const bandBatch = 200;
/**
 * A wrong clock may put posts into a band that is too old for them. They are moved back only if the clock was wrong by more
 * than this, in milliseconds, so that replicas whose clocks differ a little do not move posts to and fro.
 */
export const bandToleranceMs = 3_600_000;

// Rows that a vote has locked are skipped until the next sweep, so that there are no deadlocks.
const lockMisplaced = `SELECT id FROM posts FORCE INDEX (posts_band)
  WHERE age_band = ? AND (created_at < ? OR created_at >= ?) LIMIT ${bandBatch} FOR UPDATE SKIP LOCKED`;
const putBands = `UPDATE posts FORCE INDEX (PRIMARY) SET age_band = ${bandEndsMs.map(() => "(created_at < ?)").join(" + ")}
  WHERE id IN (${Array.from({ length: bandBatch }, () => "?").join(", ")})`;

/**
 * Moves up to `bandBatch` posts that are in `band`, and at the time `now` belong to another band, to that band. It skips
 * locked posts, and locks nothing but posts.
 * @returns how many were moved
 */
export async function moveToBands(tx: Tx, band: number, now: number): Promise<number> {
  const found = await tx.rows<{ id: number }>(lockMisplaced, [band, ...limitsOf(band, now)]);
  if (found.length === 0) return 0;
  const ids = Array.from({ length: bandBatch }, (_, i) => found[i]?.id ?? 0); // No post has the id 0.
  await tx.run(putBands, [...bandEndsMs.map((end) => now - end), ...ids]);
  return found.length;
}

/** The times between which the posts of a band were created: from the first on, and before the second. */
function limitsOf(band: number, now: number): [number, number] {
  const oldest = now - (bandEndsMs[band] ?? Number.POSITIVE_INFINITY);
  const youngest = band === 0 ? Number.POSITIVE_INFINITY : now - (bandEndsMs[band - 1] as number) + bandToleranceMs;
  return [Math.max(oldest, Number.MIN_SAFE_INTEGER), Math.min(youngest, Number.MAX_SAFE_INTEGER)];
}
