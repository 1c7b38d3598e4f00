// Compares the service with hand-written routes over the same data in one run. See `npm run bench -- --help`.
import { openBoard } from "./board.ts";
import { type Case, createCases } from "./cases.ts";
import { startBaseline, startService } from "./environment.ts";
import { benchFacade } from "./facade/bench.ts";
import { checkFairness } from "./fairness.ts";
import { benchFollowers } from "./followers.ts";
import { benchGrowth } from "./growth/bench.ts";
import { costOfKeys, idempotencyProtocols, manyCreates } from "./idempotency.ts";
import { benchLedger } from "./ledger/bench.ts";
import { benchLimits } from "./limits.ts";
import { benchLog } from "./log/bench.ts";
import { measureAll } from "./measure.ts";
import { watch } from "./memory.ts";
import { choose, type Options, readOptions, usage } from "./options.ts";
import { benchPages } from "./pages.ts";
import { protocols } from "./protocols.ts";
import { compareCommunities, findMissed, type Report, reportComparison, saveReport } from "./report.ts";
import { benchRpc } from "./rpc.ts";
import type { Run } from "./run.ts";
import { benchSearch } from "./search.ts";
import { benchWatchers } from "./watchers.ts";

const log = (line: string) => void process.stderr.write(`${line}\n`);

/** What is measured instead of the board, by the option that asks for it. */
const modes = [
  ["ledger", benchLedger],
  ["facade", benchFacade],
  ["pages", benchPages],
  ["limits", benchLimits],
  ["log", benchLog],
  ["rpc", benchRpc],
  ["search", benchSearch],
  ["watchers", benchWatchers],
  ["followers", benchFollowers],
  ["growth", benchGrowth],
] as const;

if (process.argv.includes("--help")) {
  process.stdout.write(`${usage}\n`);
} else {
  const interruption = new AbortController();
  const interrupt = () => interruption.abort(new Error("interrupted"));
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  try {
    const options = readOptions(process.argv.slice(2), process.env);
    const mode = modes.find(([name]) => options[name])?.[1] ?? bench;
    const { report, text } = await measure(options, interruption.signal, mode);
    process.stdout.write(`\n${text}\n`);
    log(`written to ${saveReport(report, options.resultsDir)}`);
    if (report.missed.length > 0) process.exitCode = 1;
  } catch (error) {
    log(`The bench failed: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}

/** What is measured. */
type Mode = (run: Run) => Promise<{ report: Pick<Report, "startedAt" | "missed">; text: string }>;

/** Runs a mode, and ends what it has begun. */
async function measure(options: Options, signal: AbortSignal, mode: Mode): ReturnType<Mode> {
  await using cleanUp = new AsyncDisposableStack();
  return await mode({ started: Date.now(), options, log, signal, cleanUp });
}

async function bench(run: Run): Promise<{ report: Report; text: string }> {
  const { options, signal, cleanUp } = run;
  const { address, admin, machine } = await openBoard(run);
  const sides = {
    baseline: await watch(startBaseline(address, signal), cleanUp),
    service: await watch(startService(address, options, signal), cleanUp),
  };

  const all = createCases(options.population);
  const cases = options.idempotency ? [manyCreates(all)] : choose("case", all, options.only);
  const chosen = options.idempotency ? idempotencyProtocols : choose("protocol", protocols, options.protocols);
  const notes = await checkFairness(cases, sides, admin);
  const measurements = await measureAll(cases, chosen, sides, run);
  const keys = options.idempotency ? costOfKeys(cases[0] as Case, measurements, options) : undefined;
  const communities = compareCommunities(measurements);
  return reportComparison(
    { ...run, machine },
    {
      measurements,
      residentMiB: sides.service.memory.peak(),
      notes: [...notes, ...communities.notes, ...(keys === undefined ? [] : [keys.note])],
      missed: keys?.missed ?? [...findMissed(measurements), ...communities.missed],
    },
    { ratio: "throughput as a share of the hand-written REST route's" },
  );
}
