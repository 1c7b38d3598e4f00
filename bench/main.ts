// Compares the service with routes written by hand, over the same data, in one run. `npm run bench -- --help` says more.
import { openBoard } from "./board.ts";
import { type Case, createCases } from "./cases.ts";
import { startBaseline, startService } from "./environment.ts";
import { checkFairness } from "./fairness.ts";
import { costOfKeys, idempotencyProtocols, manyCreates } from "./idempotency.ts";
import { benchLedger } from "./ledger/bench.ts";
import { benchLimits } from "./limits.ts";
import { type Measurement, measure } from "./measure.ts";
import { MemoryWatch } from "./memory.ts";
import { choose, type Options, readOptions, usage } from "./options.ts";
import { benchPages } from "./pages.ts";
import { protocols } from "./protocols.ts";
import { describeSet, findMissed, formatReport, type Report, saveReport } from "./report.ts";

const log = (line: string) => void process.stderr.write(`${line}\n`);

if (process.argv.includes("--help")) {
  process.stdout.write(`${usage}\n`);
} else {
  const interruption = new AbortController();
  const interrupt = () => interruption.abort(new Error("interrupted"));
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  try {
    const options = readOptions(process.argv.slice(2), process.env);
    const { report, text } = options.ledger
      ? await benchLedger(options, options.ledger.receipts, log, interruption.signal)
      : options.pages
        ? await benchPages(options, log, interruption.signal)
        : options.limits
          ? await benchLimits(options, log, interruption.signal)
          : await bench(options, interruption.signal);
    process.stdout.write(`\n${text}\n`);
    log(`written to ${saveReport(report, options.resultsDir)}`);
    if (report.missed.length > 0) process.exitCode = 1;
  } catch (error) {
    log(`The bench failed: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}

async function bench(options: Options, signal: AbortSignal): Promise<{ report: Report; text: string }> {
  const started = Date.now();
  await using cleanUp = new AsyncDisposableStack();

  const { address, admin, machine } = await openBoard(options, log, signal, cleanUp);

  const baseline = await startBaseline(address, signal);
  cleanUp.defer(() => baseline.stop());
  const service = await startService(address, options, signal);
  cleanUp.defer(() => service.stop());
  const sides = {
    baseline: { child: baseline, memory: new MemoryWatch(baseline.pid) },
    service: { child: service, memory: new MemoryWatch(service.pid) },
  };
  for (const { memory } of Object.values(sides)) cleanUp.defer(() => memory.stop());

  const all = createCases(options.population);
  const cases = options.idempotency ? [manyCreates(all)] : choose("case", all, options.only);
  const chosen = options.idempotency ? idempotencyProtocols : choose("protocol", protocols, options.protocols);
  const notes = await checkFairness(cases, { baseline: baseline.url, service: service.url }, admin);
  const measurements: Measurement[] = [];
  for (const each of cases) {
    signal.throwIfAborted();
    log(`measuring ${each.name}`);
    measurements.push(...(await measure(each, chosen, sides, options, signal)));
  }
  const keys = options.idempotency ? costOfKeys(cases[0] as Case, measurements, options) : undefined;
  const peak = sides.service.memory.peak();
  const report = {
    startedAt: new Date(started).toISOString(),
    seconds: Math.round((Date.now() - started) / 1000),
    machine,
    set: describeSet(options),
    measurements,
    serviceResidentPeakMiB: peak,
    notes: keys === undefined ? notes : [...notes, keys.note],
    missed: keys?.missed ?? findMissed(measurements, peak),
  };
  return { report, text: formatReport(report) };
}
