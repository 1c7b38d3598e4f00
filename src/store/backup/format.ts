// A backup is a text of SQL statements. Its second line is the header: a comment with JSON. Its last line is a comment with the
// SHA-256 of everything before it; a file that was cut off lacks that line.
import type { Migration } from "../schema/migration-files.ts";

export interface BackupHeader {
  format: 2;
  /** UTC. */
  made_at: string;
  /** The server, such as "MariaDB 10.11.6". */
  engine: string;
  /** The migrations that the schema consists of: name and checksum. */
  schema: { name: string; checksum: string }[];
  /** The newest receipt in the backup. */
  head: { seq: number; hash: string };
}

const title = "-- A backup of Stoa. Restore it into an empty database: npm run stoa -- restore FILE";
const headerLine =
  /^-- .*\n-- header (\{"format":2,"made_at":"[-\d:.TZ]+","engine":"(?:MariaDB|MySQL) [\d.]+","schema":\[(?:\{"name":"\w+","checksum":"\w+"\},?)+\],"head":\{"seq":\d+,"hash":"[0-9a-f]{64}"\}\})\n/;
const endLine = /^-- sha256 ([0-9a-f]{64})\n$/;
/** The header ends within this many bytes from the beginning. */
export const maxHeaderBytes = 64 * 1024;
/** The length of the last line. */
export const endBytes = endText("0".repeat(64)).length;

export function headerText({ format, made_at, engine, schema, head }: BackupHeader): string {
  return `${title}\n-- header ${JSON.stringify({ format, made_at, engine, schema, head })}\n`;
}

/** @param sha256 in lower-case hexadecimal */
export function endText(sha256: string): string {
  return `-- sha256 ${sha256}\n`;
}

/** Reads the SHA-256 from the last line; undefined if `text` is not such a line. */
export function parseEnd(text: string): string | undefined {
  return endLine.exec(text)?.[1];
}

/**
 * Reads the header from the first `maxHeaderBytes` of a file; undefined if it is not a backup.
 * @throws Error with one line if the backup has another format
 */
export function parseHeader(start: string): BackupHeader | undefined {
  const json = headerLine.exec(start)?.[1];
  if (json !== undefined) return JSON.parse(json);
  const format = /^-- .*\n-- header \{"format":(\d+),/.exec(start)?.[1];
  if (format === undefined || format === "2") return undefined;
  throw new Error(
    format === "1"
      ? "The backup has the format 1, which earlier versions of Stoa wrote. Restore it with such a version, let this version" +
          " migrate the database, and make a new backup."
      : `The backup has the format ${format}, which a newer version of Stoa writes. Restore it with that version.`,
  );
}

/** Why a program with the migrations `known` cannot restore this backup, in one line; undefined if it can. */
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
