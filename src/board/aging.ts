import { bandBatch, moveToBands, oldestBand } from "../store/tables/age-bands.ts";
import type { Board } from "./board.ts";

/**
 * Moves every post to the band of its age, in small transactions, so that votes hardly wait. Locked posts are skipped until
 * the next sweep. Top feeds of a window are also right without it, only slower. Any number of replicas may do it at once.
 * @returns how many posts were moved
 * @throws StoaError `unavailable`; the signal's reason, before the next statement. Moved posts stay moved.
 */
export async function moveAgedPosts(board: Board, signal: AbortSignal): Promise<number> {
  let moved = 0;
  for (let band = 0; band <= oldestBand; band++) {
    for (let batch = bandBatch; batch === bandBatch; moved += batch) {
      batch = await board.write(signal, ({ tx, now }) => moveToBands(tx, band, now));
    }
  }
  return moved;
}
