// The cost of rate limits: the service with limits and the service without, alternately over the same data.
import { openBoard } from "./board.ts";
import { createCases } from "./cases.ts";
import { startService } from "./environment.ts";
import { receiptCase } from "./ledger/receipt-case.ts";
import { measureAll } from "./measure.ts";
import { watch } from "./memory.ts";
import { choose } from "./options.ts";
import { handWritten } from "./protocols.ts";
import { type Report, reportComparison } from "./report.ts";
import type { Run } from "./run.ts";

/** The minimum throughput of a read with limits, as a share of its throughput without limits. */
const minShare = 0.9;
/** The load comes from one address and few agents. These limits are checked on every call and never reached. */
const settings = {
  STOA_RATE_LIMITS: "on",
  ...Object.fromEntries(
    ["POSTS", "COMMENTS", "VOTES", "CALLS", "READS", "REFUSALS", "CREDENTIALS"].map((name) => [
      `STOA_LIMIT_${name}`,
      "1000000/1s",
    ]),
  ),
};
const without = { ...handWritten, name: "without limits" };
const withLimits = { ...handWritten, name: "with limits", side: "service" as const };

export async function benchLimits(run: Run): Promise<{ report: Report; text: string }> {
  const { options, signal, cleanUp } = run;
  const { address, machine } = await openBoard(run);

  const sides = {
    baseline: await watch(startService(address, options, signal), cleanUp),
    service: await watch(startService(address, options, signal, settings), cleanUp),
  };

  // Reading the receipt that the first start sealed is the cheapest read.
  const cases = choose("case", [...createCases(options.population), receiptCase(1)], options.only);
  const measurements = await measureAll(cases, [withLimits], sides, run, without);
  const missed = measurements
    .filter(({ kind, protocol, ratio }) => kind === "read" && protocol === withLimits.name && !(ratio >= minShare))
    .map(({ case: name, ratio }) => `${name} reaches ${ratio.toFixed(2)} with limits, not ${minShare}`);
  return reportComparison(
    { ...run, machine },
    { measurements, residentMiB: sides.service.memory.peak(), missed },
    { ratio: "throughput as a share of the same service's without limits" },
  );
}
