import type { Board } from "../board/board.ts";
import { defaultPace, RecountWatch } from "../board/recount/watch.ts";
import type { GaugeSource } from "../http/metrics/metrics.ts";
import type { Startup } from "./startup.ts";

/**
 * Starts the recount of the board in the background. The warning `counters` says what it finds.
 * @returns its metrics
 */
export function startRecount({ overrides, log, warnings, shutdown }: Startup, board: Board): GaugeSource[] {
  const watch = new RecountWatch(board, log, { ...defaultPace, ...overrides.recountPace });
  shutdown.push(() => watch.stop(), "the recount");
  warnings.add("counters", () => watch.warning);
  return [
    {
      name: "stoa_recount_findings",
      help: "Wrong stored values that the background recount has found and that are not repaired yet, up to 100.",
      read: () => watch.count,
    },
    {
      name: "stoa_recount_finished_timestamp_seconds",
      help: "When the background recount last finished a round through all rows; NaN before that.",
      read: () => watch.finishedAt && watch.finishedAt / 1000,
    },
  ];
}
