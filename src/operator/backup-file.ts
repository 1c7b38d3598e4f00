import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type BackupEnd, type BackupHeader, parseEnd, parseHeader } from "../store/backup/format.ts";

/** No statement of a backup is near this long, in bytes: a row has at most 16 MiB, and twice that as text. */
const maxLine = 64 * 1024 * 1024;
const lineFeed = 0x0a;
/** The header is one of the first lines. */
const headerLines = 2;

/**
 * Writes a file that only its owner may read. It appears under its name whole and on the disk, or not at all; a file that
 * had the name before stays until then.
 * @returns what `work` has returned
 * @throws Error when it cannot be written, or the name is that of something else than a file
 */
export async function writeWhole<Result>(
  path: string,
  work: (write: (bytes: Buffer) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const existing = await stat(path).catch(() => undefined);
  if (existing !== undefined && !existing.isFile()) throw new Error(`${path} is not a file`);
  const aside = `${path}.${randomBytes(4).toString("hex")}.new`;
  const file = await open(aside, "wx", 0o600);
  let result: Result;
  try {
    result = await work(async (bytes) => {
      await file.appendFile(bytes);
    });
    await file.sync();
    await file.close();
    await rename(aside, path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(aside, { force: true });
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

/** A backup that has been read to its end. */
export interface CheckedBackup {
  header: BackupHeader;
  end: BackupEnd;
}

/**
 * Reads all of a backup.
 * @throws Error with one line when it is no backup, was cut off, or changed since it was made
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
  throw new Error(`${path} is not a backup that stoa backup has made`);
}

/**
 * The lines of a backup, without its end.
 * @returns the end
 * @throws Error with one line, after all lines, when the end is missing or the lines are not those that it was made for
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
  if (end === undefined)
    throw new Error(`${path} is cut off: it has no end. Nothing of it can be trusted to be whole.`);
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
    if (length > maxLine) throw new Error(`${path} is not a backup that stoa backup has made`);
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}
