// Compares the pages with the API's replies with the same content, from the same process.
import { openBoard } from "./board.ts";
import { startService } from "./environment.ts";
import type { Round } from "./load/recorder.ts";
import { runLoad } from "./load.ts";
import { median } from "./measure.ts";
import { watch } from "./memory.ts";
import { choose, concurrency, type Options } from "./options.ts";
import { discussedPost, type Population } from "./population.ts";
import type { Request } from "./protocols.ts";
import {
  describeMemory,
  describeMissed,
  describeSet,
  formatMachine,
  formatTable,
  type Line,
  missedMemory,
  type Report,
  spanSince,
} from "./report.ts";
import type { Run } from "./run.ts";

/** The minimum throughput of the home page, as a share of the feed's. */
const minRatio = 0.4;

/** A page, and the address of the API with the same content. */
interface PageCase {
  name: string;
  page: string[];
  api: string[];
}

export interface PagesReport extends Pick<Report, "startedAt" | "seconds" | "machine" | "set" | "missed"> {
  lines: Line[];
}

export async function benchPages(run: Run): Promise<{ report: PagesReport; text: string }> {
  const { started, options, log, signal, cleanUp } = run;
  const { address, machine } = await openBoard(run);
  const { child: service, memory } = await watch(startService(address, options, signal), cleanUp);

  const lines: Line[] = [];
  for (const each of choose("case", pageCases(options.population), options.only)) {
    log(`measuring ${each.name}`);
    const run = async (paths: string[], seconds: number): Promise<Round> => {
      const requests = paths.map((path): Request => ({ method: "GET", path, headers: {} }));
      const all = Array.from({ length: concurrency }, () => requests);
      const round = await runLoad("http1", { url: service.url, seconds, requests: all, signal });
      if (round.failed > 0)
        throw new Error(`${each.name}: ${round.failed} requests failed: ${round.failures.join("; ")}`);
      return round;
    };
    lines.push(...(await compare(each.name, run, each, options)));
  }
  const missed = lines
    .filter((line) => line.case === "home" && (line.ratio ?? 1) < minRatio)
    .map((line) => `the home page reaches ${line.ratio?.toFixed(2)} of the feed's throughput, not ${minRatio}`);
  const peak = memory.peak();
  const report: PagesReport = {
    ...spanSince(started),
    machine,
    set: describeSet(options),
    lines,
    missed: [...missed, ...missedMemory(peak)],
  };
  return { report, text: formatPagesReport(report, peak) };
}

function pageCases({ posts, ...population }: Population): PageCase[] {
  const ids = Array.from({ length: 300 }, (_, i) =>
    discussedPost(Math.floor((posts * i) / 300), { posts, ...population }),
  );
  return [
    { name: "home", page: ["/"], api: ["/api/v1/feed"] },
    { name: "new", page: ["/?sort=new"], api: ["/api/v1/feed?sort=new"] },
    { name: "post", page: ids.map((id) => `/posts/${id}`), api: ids.map((id) => `/api/v1/posts/${id}`) },
    { name: "atom", page: ["/feed.xml"], api: ["/api/v1/feed?sort=new"] },
  ];
}

/** Measures both alternately, with the order reversed in each round. The ratio is formed within a round. */
async function compare(
  name: string,
  run: (paths: string[], seconds: number) => Promise<Round>,
  { page, api }: PageCase,
  { rounds, seconds, warmUpSeconds }: Options,
): Promise<Line[]> {
  const results = { page: [] as Round[], api: [] as Round[] };
  const sides = [
    { rounds: results.api, paths: api },
    { rounds: results.page, paths: page },
  ];
  for (const { paths } of sides) await run(paths, warmUpSeconds);
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) side.rounds.push(await run(side.paths, seconds));
  }
  const line = (protocol: string, each: Round[], ratio: number | undefined): Line => ({
    case: name,
    protocol,
    perSecond: median(each.map(({ perSecond }) => perSecond)),
    p50: median(each.map(({ p50 }) => p50)),
    p99: median(each.map(({ p99 }) => p99)),
    ratio,
  });
  const ratios = results.page.map(({ perSecond }, round) => perSecond / (results.api[round] as Round).perSecond);
  return [line("rest", results.api, undefined), line("page", results.page, median(ratios))];
}

function formatPagesReport({ machine, set, lines, missed }: PagesReport, residentMiB: number | undefined): string {
  return [
    `${set.posts.toLocaleString("en")} posts; ${set.concurrency} requests at once; medians of ${set.rounds} rounds of ${set.roundSeconds} s`,
    formatMachine(machine),
    "",
    ...formatTable(lines, "requests"),
    "",
    "ratio: throughput as a share of the API's with the same content, in the same round",
    describeMemory(residentMiB),
    describeMissed(missed),
  ].join("\n");
}
