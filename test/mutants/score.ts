import { dirname } from "node:path";

interface Position {
  line: number;
  column: number;
}

/** The part of Stryker's JSON report that counts here. */
export interface Report {
  files: Record<
    string,
    {
      source: string;
      mutants: {
        status: string;
        statusReason?: string;
        replacement: string;
        location: { start: Position; end: Position };
      }[];
    }
  >;
}

/** Mutants that behave like the source, by file, as the changed lines. `reason` says why nobody can notice. */
export type Equivalents = Readonly<Record<string, readonly { reason: string; mutants: readonly string[] }[]>>;

interface Room {
  killed: number;
  equivalent: number;
  survived: number;
  /** Of the mutants that are not equivalent, rounded down to a tenth. */
  percent: number;
}

interface Survivor {
  file: string;
  line: number;
  /** The line as the mutant has it. */
  mutant: string;
  status: string;
}

/**
 * Scores a report by folder, without the equivalents.
 * @returns `timeouts`: the mutants that a time limit has ended, which counts as killed; those whose loops Stryker has counted
 * are not among them. `stale`: the equivalents of mutated files that did not survive
 */
export function judge({ files }: Report, equivalents: Equivalents) {
  const rooms: Record<string, Room> = {};
  const survivors: Survivor[] = [];
  const timeouts: Survivor[] = [];
  const stale: { file: string; mutant: string }[] = [];
  for (const [file, { source, mutants }] of Object.entries(files)) {
    rooms[dirname(file)] ??= { killed: 0, equivalent: 0, survived: 0, percent: 100 };
    const room = rooms[dirname(file)] as Room;
    const listed = new Set(equivalents[file]?.flatMap(({ mutants }) => mutants));
    const seen = new Set<string>();
    for (const { status, statusReason, replacement, location } of mutants) {
      const mutant = changedLine(source, location, replacement);
      const { line } = location.start;
      const hasSurvived = status === "Survived" || status === "NoCoverage";
      // An equivalent that costs time may exceed a time limit.
      if (listed.has(mutant) && (hasSurvived || status === "Timeout")) {
        room.equivalent++;
        seen.add(mutant);
      } else if (hasSurvived) {
        room.survived++;
        survivors.push({ file, line, mutant, status });
      } else if (status === "Killed" || status === "Timeout" || status === "RuntimeError") {
        room.killed++;
        if (status === "Timeout" && !statusReason) timeouts.push({ file, line, mutant, status });
      }
    }
    for (const mutant of listed) if (!seen.has(mutant)) stale.push({ file, mutant });
  }
  for (const room of Object.values(rooms)) {
    const { killed, survived } = room;
    if (killed + survived > 0) room.percent = Math.floor((1000 * killed) / (killed + survived)) / 10;
  }
  return { rooms, survivors, timeouts, stale };
}

/** The lines that a mutant changes, joined, with single spaces. */
function changedLine(source: string, { start, end }: { start: Position; end: Position }, replacement: string): string {
  const lines = source.split("\n");
  const before = lines[start.line - 1]?.slice(0, start.column - 1);
  const after = lines[end.line - 1]?.slice(end.column - 1);
  return `${before}${replacement}${after}`.replaceAll(/\s+/g, " ").trim();
}
