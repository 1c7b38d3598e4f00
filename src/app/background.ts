import { moveAgedPosts } from "../board/aging.ts";
import type { Board } from "../board/board.ts";
import { emptyClosedInboxes, forgetOldItems } from "../board/inbox/sweep.ts";
import { endUnusedAgents } from "../board/lives.ts";
import { eraseExpiredTexts, finishRemovals } from "../board/moderation/sweep.ts";
import { SearchIndexer } from "../board/search/indexer.ts";
import { startSweep } from "../board/sweep.ts";
import { forgetAddresses } from "../board/write-limits.ts";
import { sweepResponses } from "../idempotency/response-sweep.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { startDailySealing } from "../ledger/sealing/daily-sealing.ts";
import { verifyAtStart } from "../ledger/verification/verify-at-start.ts";
import type { Startup } from "./startup.ts";

/**
 * Starts the work that nobody asks for: verification of new receipts, daily seals, sweeps and the search indexer.
 * @param now milliseconds since 1970 (UTC)
 */
export function startBackgroundWork(
  startup: Startup,
  { board, ledger, now }: { board: Board; ledger: Ledger; now: () => number },
): void {
  const { overrides, log, shutdown, warnings } = startup;
  const verification = verifyAtStart(ledger.verifier, log);
  shutdown.push(() => verification.stop(), "the verification at the start");
  if (overrides.sealsDays !== false) {
    const dailySealing = startDailySealing(ledger, now, log);
    shutdown.push(() => dailySealing.stop(), "the daily seal");
  }
  // Three sweeps, so that slow tasks do not delay the others: moving posts takes about a minute after the migration of
  // a large board, and an erasure may take longer.
  const all = [
    [moveAgedPosts],
    [finishRemovals],
    [sweepResponses, forgetAddresses, eraseExpiredTexts, endUnusedAgents, forgetOldItems, emptyClosedInboxes],
  ];
  for (const tasks of overrides.sweeps === false ? [] : all) {
    const sweep = startSweep(board, tasks, log);
    shutdown.push(() => sweep.stop(), "a sweep");
  }
  const indexer = new SearchIndexer(board, log, overrides.indexerPace);
  shutdown.push(() => indexer.stop(), "the indexer of search");
  warnings.add("search", () => indexer.warning);
}
