import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type BackupEnd, type BackupHeader, parseEnd, parseHeader } from "../store/backup/format.ts";

/** The longest line of a backup, in bytes. Real lines are shorter: a row has at most 16 MiB, and twice that as text. */
const maxLineBytes = 64 * 1024 * 1024;
const lineFeed = 0x0a;
/** The header is one of the first lines. */
const headerLines = 2;

/**
 * Writes a file that only its owner may read. The file appears under its name when it is complete and on the disk, or
 * not at all. An older file of this name stays until then.
 * @returns the result of `work`
 * @throws Error when the file cannot be written, or when the name is not the name of a file
 */
export async function writeWhole<Result>(
  path: string,
  work: (write: (bytes: Buffer) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const existing = await stat(path).catch(() => undefined);
  if (existing !== undefined && !existing.isFile()) throw new Error(`${path} is not a file`);
  const unfinished = `${path}.${randomBytes(4).toString("hex")}.new`;
  const file = await open(unfinished, "wx", 0o600);
  let result: Result;
  try {
    result = await work(async (bytes) => {
      await file.appendFile(bytes);
    });
    await file.sync();
    await file.close();
    await rename(unfinished, path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
  return result;
}

/** Makes a rename durable. */
async function syncFolder(path: string): Promise<void> {
  const folder: FileHandle = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A backup that was read to its end. */
export interface CheckedBackup {
  header: BackupHeader;
  end: BackupEnd;
}

/**
 * Reads all of a backup.
 * @throws Error with one line if it is not a backup, was cut off, or was changed since it was made
 */
export async function checkBackup(path: string, signal: AbortSignal): Promise<CheckedBackup> {
  const header = await readHeader(path, signal);
  const lines = readLines(path, signal);
  let step = await lines.next();
  while (!step.done) step = await lines.next();
  return { header, end: step.value };
}

async function readHeader(path: string, signal: AbortSignal): Promise<BackupHeader> {
  let left = headerLines;
  for await (const line of splitLines(path, signal)) {
    const header = parseHeader(line.toString("utf8"));
    if (header !== undefined) return header;
    left -= 1;
    if (left === 0) break;
  }
  throw new Error(`${path} is not a backup made by stoa backup`);
}

/**
 * The lines of a backup, without its end.
 * @returns the end
 * @throws Error with one line, after all lines, if the end is missing or its checksum does not match the lines
 */
export async function* readLines(path: string, signal: AbortSignal): AsyncGenerator<string, BackupEnd> {
  const hash = createHash("sha256");
  let last: Buffer | undefined;
  for await (const line of splitLines(path, signal)) {
    if (last !== undefined) {
      hash.update(last);
      yield last.toString("utf8", 0, last.length - 1);
    }
    last = line;
  }
  const end = last?.at(-1) === lineFeed ? parseEnd(last.toString("utf8")) : undefined;
  if (end === undefined) throw new Error(`${path} is incomplete: its end is missing.`);
  if (end.sha256 !== hash.digest("hex"))
    throw new Error(`${path} was changed since it was made: its checksum is wrong`);
  return end;
}

/** The lines of a file with their line feeds; the last may have none. */
async function* splitLines(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of createReadStream(path, { signal, highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end + 1)]);
      parts = [];
      length = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > maxLineBytes) throw new Error(`${path} is not a backup made by stoa backup`);
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}
