// How the latency of reads and writes grows with the board: the same calls on boards of different sizes, one at a time.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeEngine, startDatabase, startService } from "../environment.ts";
import { median } from "../measure.ts";
import { type Side, watch } from "../memory.ts";
import { choose } from "../options.ts";
import {
  describeMachine,
  describeMemory,
  describeMissed,
  describeSet,
  formatMachine,
  missedMemory,
  type Report,
  spanSince,
} from "../report.ts";
import type { Run } from "../run.ts";
import { ensureSeed } from "../seed.ts";
import { openServer } from "../seed-database.ts";
import { type Board, type GrowthCase, growthCases, operatorToken } from "./cases.ts";
import { Client } from "./client.ts";
import { bufferPoolFor, defaultSizes, populationOf } from "./sizes.ts";

/** The maximum p50 on the largest board, as a share of that on the smallest. */
const maxGrowth = 1.2;
const warmUpCalls = 20;
/** Calls of a case on each board, in a second of the option --seconds. */
const callsASecond = 50;

interface MeasuredBoard extends Board {
  side: Side;
  client: Client;
}

/** The p50 of a case on each board, in milliseconds. */
interface GrowthLine {
  case: string;
  kind: GrowthCase["kind"];
  p50: number[];
  /** The p50 on the largest board as a share of that on the smallest. */
  growth: number;
}

export interface GrowthReport extends Pick<Report, "startedAt" | "seconds" | "machine" | "set" | "notes" | "missed"> {
  sizes: number[];
  lines: GrowthLine[];
}

export async function benchGrowth(run: Run): Promise<{ report: GrowthReport; text: string }> {
  const { started, options, log, signal, cleanUp } = run;
  const cases = choose("case", growthCases, options.only);
  const sizes = options.growth?.posts ?? defaultSizes(options.dataDir, log);
  const pool = bufferPoolFor(sizes);
  const database = await startDatabase(options, log, signal, `${pool.gigabytes}G`);
  cleanUp.defer(() => database.stop());

  // A service remembers the newest receipt there. A board that is made again has another chain.
  const serviceDir = mkdtempSync(join(tmpdir(), "stoa-bench-"));
  cleanUp.defer(() => rmSync(serviceDir, { recursive: true }));

  const boards: MeasuredBoard[] = [];
  for (const posts of sizes) {
    const population = populationOf(posts);
    const address = { ...database.address, database: population.database };
    await ensureSeed({ address, population, anew: options.reseed, log });
    const settings = { STOA_OPERATOR_TOKEN: operatorToken, STOA_DATA_DIR: join(serviceDir, String(posts)) };
    const side = await watch(startService(address, options, signal, settings), cleanUp);
    const client = cleanUp.use(new Client(side.child.url));
    boards.push({ population, side, client, call: async (request) => (await client.call(request, signal)).text });
    // The service verifies the chain when it starts. Who asks for it waits until that is done.
    await client.call({ method: "GET", path: "/house/verify?from=1" }, signal);
  }
  const server = cleanUp.use(openServer(database.address));
  const machine = describeMachine(await describeEngine(server.pool));

  const calls = Math.ceil(options.seconds * callsASecond);
  const lines: GrowthLine[] = [];
  for (const each of cases) {
    lines.push(await measure(each, boards, calls, signal));
    log(formatLine(lines.at(-1) as GrowthLine));
  }
  const peak = Math.max(...boards.map(({ side }) => side.memory.peak() ?? 0)) || undefined;
  const report: GrowthReport = {
    ...spanSince(started),
    machine,
    set: { ...describeSet(options), posts: sizes.at(-1) as number, concurrency: 1, rounds: calls },
    sizes,
    lines,
    notes: [
      pool.isEnough
        ? `the buffer pool of ${pool.gigabytes} GiB holds all boards`
        : `the buffer pool of ${pool.gigabytes} GiB does NOT hold all boards: what a call reads may come from the disk`,
      describeMemory(peak),
    ],
    missed: [
      ...lines
        .filter(({ growth }) => !(growth <= maxGrowth))
        .map(({ case: name, growth }) => `${name} takes ${growth.toFixed(2)} times as long, not ${maxGrowth}`),
      ...missedMemory(peak),
    ],
  };
  return { report, text: format(report) };
}

/** Makes each call on all boards before the next one, so that a machine that slows down affects all of them. */
async function measure(
  each: GrowthCase,
  boards: MeasuredBoard[],
  calls: number,
  signal: AbortSignal,
): Promise<GrowthLine> {
  const times = new Map(boards.map((board) => [board, [] as number[]]));
  for (let call = -warmUpCalls; call < calls; call++) {
    signal.throwIfAborted();
    for (const board of call % 2 === 0 ? boards : boards.toReversed()) {
      const request = await each.request(board, call + warmUpCalls);
      // What the first calls read is not in memory yet, so a read may take longer than the service waits.
      const reply = board.client.call(request, signal);
      const { ms } = await (call < 0 ? reply.catch(() => ({ ms: 0 })) : reply);
      if (call >= 0) times.get(board)?.push(ms);
    }
  }
  const p50 = boards.map((board) => median(times.get(board) as number[]));
  return { case: each.name, kind: each.kind, p50, growth: (p50.at(-1) as number) / (p50[0] as number) };
}

function formatLine({ case: name, p50, growth }: GrowthLine): string {
  const cells = p50.map((ms) => ms.toFixed(2).padStart(12));
  return `${growth.toFixed(2).padStart(7)}  ${name.padEnd(34)}${cells.join("")}`;
}

function format({ sizes, lines, machine, notes, missed, set, seconds }: GrowthReport): string {
  const header = sizes.map((size) => size.toLocaleString("en").padStart(12)).join("");
  return [
    `p50 in ms of ${set.rounds} calls, one at a time, by the number of posts; ${seconds} s in all`,
    formatMachine(machine),
    "",
    ` growth  ${"case".padEnd(34)}${header}`,
    ...lines.toSorted((a, b) => b.growth - a.growth).map(formatLine),
    "",
    "growth: p50 on the largest board as a share of that on the smallest",
    ...notes,
    describeMissed(missed),
  ].join("\n");
}
