import type { FastifyBaseLogger } from "fastify";
import type { Board } from "../board/board.ts";
import { defaultPace, type RecountPace, RecountWatch } from "../board/recount/watch.ts";
import type { GaugeSource } from "../http/metrics/metrics.ts";
import type { Warnings } from "../warnings.ts";
import type { CleanUp } from "./shutdown.ts";

/**
 * Starts to count the board anew in the background; the warning `counters` tells what is found.
 * @returns what the metrics tell of it
 */
export function startRecount(
  board: Board,
  {
    log,
    warnings,
    cleanUp,
    pace,
  }: {
    log: FastifyBaseLogger;
    warnings: Warnings;
    cleanUp: CleanUp;
    pace: Partial<RecountPace> | undefined;
  },
): GaugeSource[] {
  const watch = new RecountWatch(board, log, { ...defaultPace, ...pace });
  cleanUp.push(() => watch.stop(), "the recount");
  warnings.add("counters", () => watch.warning);
  return [
    {
      name: "stoa_recount_findings",
      help: "How many stored values the recount in the background has found wrong, up to 100, until they are right again.",
      read: () => watch.count,
    },
    {
      name: "stoa_recount_finished_timestamp_seconds",
      help: "When the recount in the background last finished a round through all rows; NaN before.",
      read: () => watch.finishedAt && watch.finishedAt / 1000,
    },
  ];
}
