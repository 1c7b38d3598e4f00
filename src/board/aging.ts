import { bandBatch, moveToBands, oldestBand } from "../store/tables/age-bands.ts";
import type { Board } from "./board.ts";

/**
 * Moves every post to the band of its age, in small transactions of their own, so that votes hardly wait; posts that are
 * locked just then stay for the next time. Top feeds of a window are right without, only slower. Any number of replicas
 * may do so at once.
 * @returns how many were moved
 * @throws StoaError `unavailable`; the reason of `signal`, before the next statement. What was moved stays moved.
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
