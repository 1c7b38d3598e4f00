// A backup is a text of SQL statements. Its second line is the header, a comment with JSON. Its last line is a comment with
// the SHA-256 of everything before it, so a file that was cut off has none.
import type { Migration } from "../schema/migration-files.ts";

export interface BackupHeader {
  format: 2;
  /** UTC. */
  made_at: string;
  /** The server, such as "MariaDB 10.11.6". */
  engine: string;
  /** The migrations that the schema consists of: name and checksum. */
  schema: { name: string; checksum: string }[];
  /** The newest receipt. */
  head: { seq: number; hash: string };
}

const title = "-- A backup of Stoa. Restore it into an empty database: npm run stoa -- restore FILE";
const headerLine =
  /^-- .*\n-- header (\{"format":2,"made_at":"[-\d:.TZ]+","engine":"(?:MariaDB|MySQL) [\d.]+","schema":\[(?:\{"name":"\w+","checksum":"\w+"\},?)+\],"head":\{"seq":\d+,"hash":"[0-9a-f]{64}"\}\})\n/;
const endLine = /^-- sha256 ([0-9a-f]{64})\n$/;
/** The header is within the first bytes of the file. */
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

/** @returns the SHA-256 of the last line; undefined if it is not one */
export function parseEnd(text: string): string | undefined {
  return endLine.exec(text)?.[1];
}

/**
 * Reads the header.
 * @param start the beginning of a file
 * @returns undefined if it is not a backup
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
