import { eraseCommentTexts } from "../../store/tables/removed-comments.ts";
import { erasePostTexts } from "../../store/tables/removed-posts.ts";
import type { Board } from "../board.ts";

const batch = 200;

/** Erases the texts of removed posts and comments whose time is over. */
export async function eraseExpiredTexts(board: Board, signal: AbortSignal): Promise<void> {
  for (const erase of [erasePostTexts, eraseCommentTexts]) {
    for (let erased = batch; erased === batch; ) {
      erased = await board.write(signal, ({ tx }) => erase(tx, board.expiryNow(), batch));
    }
  }
}
