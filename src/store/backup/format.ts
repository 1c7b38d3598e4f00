// A backup is a text of SQL statements, one a line. Its second line is the header, a comment with JSON; its last line is the
// end, a comment with the row counts and the SHA-256 of everything before it. A file that was cut off has no end.
import type { Migration } from "../schema/migration-files.ts";

export interface BackupHeader {
  format: 1;
  /** UTC. */
  made_at: string;
  /** Such as "MariaDB 10.11.6"; another engine can restore it as well. */
  engine: string;
  /** The migrations that the schema consists of: name and checksum. */
  schema: { name: string; checksum: string }[];
  /** The newest receipt. */
  head: { seq: number; hash: string };
}

export interface BackupEnd {
  /** By table. */
  rows: Record<string, number>;
  /** Of all bytes before the line, in lower-case hexadecimal. */
  sha256: string;
}

const title = "-- A backup of Stoa. Restore it into an empty database: npm run stoa -- restore FILE";
const headerPrefix = "-- header ";
const endPrefix = "-- end ";

export function headerLines(header: BackupHeader): string {
  return `${title}\n${headerPrefix}${JSON.stringify(header)}\n`;
}

export function endLine(end: BackupEnd): string {
  return `${endPrefix}${JSON.stringify(end)}\n`;
}

/** The header of a line; undefined when the line is not one. @throws Error when it is of a later format */
export function parseHeader(line: string): BackupHeader | undefined {
  const header = parse(headerPrefix, line) as BackupHeader | undefined;
  if (header !== undefined && header.format !== 1) {
    throw new Error(
      `The backup has the format ${header.format}, which a newer version of Stoa writes. Restore it with that version.`,
    );
  }
  return header;
}

export function parseEnd(line: string): BackupEnd | undefined {
  return parse(endPrefix, line) as BackupEnd | undefined;
}

/** Whether a line is a statement. */
export function isStatement(line: string): boolean {
  return line !== "" && !line.startsWith("--");
}

/** Why a backup of this schema cannot be restored by a program with these migrations; undefined when it can. */
export function findSchemaProblem({ schema }: BackupHeader, known: readonly Migration[]): string | undefined {
  for (const { name, checksum } of schema) {
    const migration = known.find((each) => each.name === name);
    if (migration === undefined) {
      return `The backup was made by a newer version of Stoa (${name}). Restore it with that version.`;
    }
    if (migration.checksum !== checksum) {
      return `The backup was made by another version of Stoa: its migration ${name} differs from this version's.`;
    }
  }
  return undefined;
}

function parse(prefix: string, line: string): unknown {
  if (!line.startsWith(prefix)) return undefined;
  try {
    return JSON.parse(line.slice(prefix.length));
  } catch {
    return undefined;
  }
}
