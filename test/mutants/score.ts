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

interface Room {
  killed: number;
  survived: number;
  /** Rounded down to a tenth. */
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
 * Scores a report by folder.
 * @returns `timeouts`: the mutants that a time limit has ended, which counts as killed; those whose loops Stryker has counted
 * are not among them
 */
export function judge({ files }: Report) {
  const rooms: Record<string, Room> = {};
  const survivors: Survivor[] = [];
  const timeouts: Survivor[] = [];
  for (const [file, { source, mutants }] of Object.entries(files)) {
    rooms[dirname(file)] ??= { killed: 0, survived: 0, percent: 100 };
    const room = rooms[dirname(file)] as Room;
    for (const { status, statusReason, replacement, location } of mutants) {
      const mutant = changedLine(source, location, replacement);
      const { line } = location.start;
      if (status === "Survived" || status === "NoCoverage") {
        room.survived++;
        survivors.push({ file, line, mutant, status });
      } else if (status === "Killed" || status === "Timeout" || status === "RuntimeError") {
        room.killed++;
        if (status === "Timeout" && !statusReason) timeouts.push({ file, line, mutant, status });
      }
    }
  }
  for (const room of Object.values(rooms)) {
    const { killed, survived } = room;
    if (killed + survived > 0) room.percent = Math.floor((1000 * killed) / (killed + survived)) / 10;
  }
  return { rooms, survivors, timeouts };
}

/** The lines that a mutant changes, joined, with single spaces. */
function changedLine(source: string, { start, end }: { start: Position; end: Position }, replacement: string): string {
  const lines = source.split("\n");
  const before = lines[start.line - 1]?.slice(0, start.column - 1);
  const after = lines[end.line - 1]?.slice(end.column - 1);
  return `${before}${replacement}${after}`.replaceAll(/\s+/g, " ").trim();
}
