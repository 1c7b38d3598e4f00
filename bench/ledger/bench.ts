// The bench of the ledger: verification, reading, streaming and sealing on a long chain.
import type { DatabaseConfig } from "../../src/config/config.ts";
import { describeEngine, openAdmin, startBaseline, startDatabase, startService } from "../environment.ts";
import { checkFairness } from "../fairness.ts";
import { measure, type Sides } from "../measure.ts";
import { watch } from "../memory.ts";
import { choose, concurrency } from "../options.ts";
import { protocols } from "../protocols.ts";
import {
  describeMachine,
  describeMemory,
  describeMissed,
  findMissed,
  formatMachine,
  formatTable,
  type Line,
  missedMemory,
  type Report,
  spanSince,
} from "../report.ts";
import type { Run } from "../run.ts";
import { receiptCase } from "./receipt-case.ts";
import { measureSealing } from "./sealing.ts";
import { ensureChain } from "./seed.ts";
import { measureStreams } from "./streams.ts";
import { measureVerification, type Outcome } from "./verification.ts";

/** The share of the chain that one stream reads, and the maximum number of receipts. */
const streamedShare = 0.5;
const maxStreamed = 100_000;

export interface LedgerReport extends Pick<Report, "startedAt" | "seconds" | "machine" | "notes" | "missed"> {
  set: { receipts: number; streamed: number; concurrency: number; rounds: number; roundSeconds: number };
  lines: Line[];
  serviceResidentPeakMiB: number | undefined;
}

export async function benchLedger(run: Run): Promise<{ report: LedgerReport; text: string }> {
  const { started, options, log, signal, cleanUp } = run;
  const { receipts } = options;
  const database = await startDatabase(options, log, signal);
  cleanUp.defer(() => database.stop());
  const address = named(database.address, "ledger");
  await ensureChain({ address, receipts, anew: options.reseed, log });
  const admin = openAdmin(address);
  cleanUp.defer(() => admin.end());
  const machine = describeMachine(await describeEngine(admin));

  const sides: Sides = {
    baseline: await watch(startBaseline(address, signal, "ledger/hand-written.ts"), cleanUp),
    service: await watch(startService(address, options, signal), cleanUp),
  };

  const { rounds } = options;
  const streamed = Math.min(receipts * streamedShare, maxStreamed);
  const parts: { name: string; run: () => Promise<Outcome> }[] = [
    { name: "verify", run: () => measureVerification(sides, receipts, rounds, signal) },
    {
      name: "receipt",
      async run() {
        const each = receiptCase(receipts);
        const notes = await checkFairness([each], sides, admin);
        const chosen = choose("protocol", protocols, options.protocols);
        const lines = await measure(each, chosen, sides, options, signal);
        return { lines, notes, missed: findMissed(lines) };
      },
    },
    { name: "stream", run: () => measureStreams(sides, { head: receipts, count: streamed, rounds }, signal) },
    { name: "seal", run: () => measureSealing(named(database.address, "sealing"), options, signal) },
  ];
  const outcomes: Outcome[] = [];
  for (const { name, run } of choose("case", parts, options.only)) {
    signal.throwIfAborted();
    log(`measuring ${name}`);
    outcomes.push(await run());
  }

  const peak = sides.service.memory.peak();
  const missed = [...outcomes.flatMap((outcome) => outcome.missed), ...missedMemory(peak)];
  const report: LedgerReport = {
    ...spanSince(started),
    machine,
    set: { receipts, streamed, concurrency, rounds, roundSeconds: options.seconds },
    lines: outcomes.flatMap(({ lines }) => lines),
    serviceResidentPeakMiB: peak,
    notes: outcomes.flatMap(({ notes }) => notes),
    missed,
  };
  return { report, text: formatLedgerReport(report) };
}

/** A second database on the server of the board's database. */
export function named(address: DatabaseConfig, part: string): DatabaseConfig {
  return { ...address, database: `${address.database}_${part}` };
}

function formatLedgerReport(report: LedgerReport): string {
  const { set, machine, lines, serviceResidentPeakMiB, notes, missed, seconds } = report;
  return [
    `a chain of ${set.receipts.toLocaleString("en")} receipts, of which a stream gives ${set.streamed.toLocaleString("en")}; ` +
      `medians of ${set.rounds} rounds; ${seconds} s in all`,
    formatMachine(machine),
    "",
    ...formatTable(lines, "calls or receipts"),
    "",
    "ratio: verify: share of the speed of a simple loop that reads and hashes the same rows; receipt: share of the hand-written",
    "route's; stream-slow, beside slow followers: share of the same reader's speed alone",
    "a minimal client in the bench's process reads the streams and counts messages: the numbers include its cost",
    describeMemory(serviceResidentPeakMiB),
    ...notes,
    describeMissed(missed),
  ].join("\n");
}
