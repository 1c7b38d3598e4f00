import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import type { Measurement } from "./measure.ts";
import { concurrency, type Options } from "./options.ts";
import type { Run } from "./run.ts";

/** The minimum throughput of REST, as a share of the hand-written route's. */
export const minRatio = 0.7;
/** The minimum throughput of creates in one community, as a share of that of creates in all. */
const minOneCommunity = 0.8;
/** The maximum resident memory of the service, in MiB. */
export const maxResidentMiB = 256;

export interface Report {
  startedAt: string;
  seconds: number;
  machine: { cpu: string; cores: number; memoryGiB: number; loadBefore: number; node: string; engine: string };
  set: {
    posts: number;
    agents: number;
    communities: number;
    concurrency: number;
    rounds: number;
    roundSeconds: number;
  };
  measurements: Measurement[];
  serviceResidentPeakMiB: number | undefined;
  notes: string[];
  /** Targets that were not met; empty when all were. */
  missed: string[];
}

export function describeMachine(engine: string): Report["machine"] {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadBefore: loadavg()[0] as number,
    node: process.version,
    engine,
  };
}

/** Returns when a run began and how long it has taken. @param started milliseconds since 1970 */
export function spanSince(started: number): Pick<Report, "startedAt" | "seconds"> {
  return { startedAt: new Date(started).toISOString(), seconds: Math.round((Date.now() - started) / 1000) };
}

export function describeSet({ population, rounds, seconds }: Options): Report["set"] {
  const { posts, agents, communities } = population;
  return { posts, agents, communities, concurrency, rounds, roundSeconds: seconds };
}

export function findMissed(measurements: Measurement[]): string[] {
  return measurements
    .filter(({ protocol, ratio }) => protocol === "rest" && !(ratio >= minRatio))
    .map(
      ({ case: name, ratio }) =>
        `${name} over REST reaches ${ratio.toFixed(2)} of the hand-written route, not ${minRatio}`,
    );
}

/** The line about the most resident memory that the service had, in MiB. */
export function describeMemory(residentMiB: number | undefined): string {
  const peak = residentMiB?.toFixed(0) ?? "unknown";
  return `the service's resident memory: ${peak} MiB at most, start included; the target is ${maxResidentMiB}`;
}

export function missedMemory(residentMiB: number | undefined): string[] {
  if (residentMiB === undefined || residentMiB <= maxResidentMiB) return [];
  return [`the service's resident memory reached ${residentMiB.toFixed(0)} MiB, not at most ${maxResidentMiB}`];
}

/** What it costs that all posts go to one community. Nothing, if one of the cases was not measured. */
export function compareCommunities(measurements: Measurement[]): { notes: string[]; missed: string[] } {
  const [one, all] = ["create-one", "create"].map(
    (name) => measurements.find((each) => each.case === name && each.protocol === "rest")?.perSecond,
  );
  if (one === undefined || all === undefined) return { notes: [], missed: [] };
  const share = one / all;
  const note = `posts into one community reach ${share.toFixed(2)} of the throughput of posts into all`;
  return { notes: [note], missed: share >= minOneCommunity ? [] : [`${note}, not ${minOneCommunity}`] };
}

/** A line of the table. Missing numbers are undefined. */
export interface Line {
  case: string;
  protocol: string;
  perSecond: number;
  p50?: number | undefined;
  p99?: number | undefined;
  ratio?: number | undefined;
  residentMiB?: number | undefined;
}

/** @param unit the unit that is counted per second */
export function formatTable(lines: Line[], unit: string): string[] {
  const header = ["ratio", "case", "protocol", `${unit}/s`, "p50 ms", "p99 ms", "RSS MiB"];
  const rows = lines.map((each) => [
    each.ratio?.toFixed(2) ?? "-",
    each.case,
    each.protocol,
    Math.round(each.perSecond).toLocaleString("en"),
    each.p50?.toFixed(1) ?? "-",
    each.p99?.toFixed(1) ?? "-",
    each.residentMiB?.toFixed(0) ?? "-",
  ]);
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] as string).length)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => {
        const width = widths[column] as number;
        return column === 1 || column === 2 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ");
  const table = rows.flatMap((row, index) => {
    const begins = index > 0 && lines[index]?.case !== lines[index - 1]?.case;
    return begins ? ["", line(row)] : [line(row)];
  });
  return [line(header), ...table];
}

/**
 * The report of a bench that compares two sides.
 * @param words what is counted per second, and what the ratio is a share of
 */
export function reportComparison(
  { started, options, machine }: Pick<Run, "started" | "options"> & Pick<Report, "machine">,
  results: { measurements: Measurement[]; residentMiB: number | undefined; notes?: string[]; missed: string[] },
  { unit = "requests", ratio }: { unit?: string; ratio: string },
): { report: Report; text: string } {
  const { measurements, residentMiB, notes = [] } = results;
  const missed = [...results.missed, ...missedMemory(residentMiB)];
  const set = describeSet(options);
  const report = {
    ...spanSince(started),
    machine,
    set,
    measurements,
    serviceResidentPeakMiB: residentMiB,
    notes,
    missed,
  };
  const text = [
    `${set.posts.toLocaleString("en")} posts, ${set.agents.toLocaleString("en")} agents, ${set.communities} communities; ` +
      `${set.concurrency} calls at once; medians of ${set.rounds} rounds of ${set.roundSeconds} s`,
    formatMachine(machine),
    "",
    ...formatTable(measurements, unit),
    "",
    `ratio: ${ratio}, in the same round`,
    describeMemory(residentMiB),
    ...notes,
    describeMissed(missed),
  ].join("\n");
  return { report, text };
}

/** The report of a bench that compares nothing: its results are the notes. */
export function reportNotes(
  { started, machine, options }: Pick<Run, "started" | "options"> & Pick<Report, "machine">,
  results: { residentMiB: number | undefined; notes: string[]; missed: string[] },
): { report: Report; text: string } {
  const { residentMiB } = results;
  const notes = [...results.notes, describeMemory(residentMiB)];
  const missed = [...results.missed, ...missedMemory(residentMiB)];
  const report = {
    ...spanSince(started),
    machine,
    set: describeSet(options),
    measurements: [],
    serviceResidentPeakMiB: residentMiB,
    notes,
    missed,
  };
  return { report, text: [formatMachine(machine), "", ...notes, "", describeMissed(missed)].join("\n") };
}

/** One line for each target that was missed. */
export function describeMissed(missed: string[]): string {
  return missed.length === 0 ? "All targets are met." : missed.map((line) => `MISSED: ${line}`).join("\n");
}

export function formatMachine({ cpu, cores, memoryGiB, loadBefore, node, engine }: Report["machine"]): string {
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, load ${loadBefore.toFixed(1)} before; Node ${node}; ${engine}`;
}

/** Writes the report as JSON and returns its path. */
export function saveReport(report: { startedAt: string }, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${report.startedAt.replace(/[:.]/g, "-")}.json`);
  writeFileSync(path, `${JSON.stringify(report, undefined, 2)}\n`);
  return path;
}
