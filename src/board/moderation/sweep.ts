import { eraseTexts } from "../../store/tables/removed-posts.ts";
import { listExpiredTexts } from "../../store/tables/reported-texts.ts";
import { listUnfinished, type UnfinishedRemoval } from "../../store/tables/unfinished-removals.ts";
import type { Board } from "../board.ts";
import { continueCleanUp } from "./clean-up.ts";
import { finishErasure } from "./erasure.ts";
import { eraseExpired } from "./reported.ts";

/** How many texts one transaction erases. Each has 40 KB at most. */
const batch = 50;
/** For how long the call that began an erasure works on it alone, in milliseconds. A call takes 10 seconds by default. */
const ownMs = 15_000;
/** How many unfinished removals are read at once. */
const portion = 20;

/** Erases the texts of removed posts and comments, and reported texts, whose time is over. */
export async function eraseExpiredTexts(board: Board, signal: AbortSignal): Promise<void> {
  for (const table of ["removed_posts", "removed_comments"] as const) {
    for (let erased = batch; erased === batch; ) {
      erased = await board.write(signal, ({ tx }) => eraseTexts(tx, table, board.expiryNow(), batch));
    }
  }
  for (let found = batch; found === batch; ) {
    const expired = await listExpiredTexts(board.read(signal), board.expiryNow(), batch);
    for (const item of expired) await board.write(signal, (unit) => eraseExpired(unit, item));
    found = expired.length;
  }
}

/** Continues what removals and erasures have left, until nothing is left. Any number of replicas may do so at once. */
export async function finishRemovals(board: Board, signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  let after: UnfinishedRemoval | undefined;
  do {
    const some = await listUnfinished(board.read(signal), after, portion);
    for (const removal of some) {
      // One that fails must not hold up the others.
      await finish(board, signal, removal).catch((error) => failures.push(error));
      signal.throwIfAborted();
    }
    after = some.at(-1);
  } while (after !== undefined);
  if (failures.length > 0) throw failures[0];
}

async function finish(board: Board, signal: AbortSignal, removal: UnfinishedRemoval): Promise<void> {
  const { item, item_id, began_at } = removal;
  if (item === "agent" || item === "author") {
    if (began_at + ownMs <= board.now()) await finishErasure(board, signal, removal);
    return;
  }
  while (!(await board.write(signal, (unit) => continueCleanUp(unit, { item, item_id }))));
}
