import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { type BackupHeader, endBytes, maxHeaderBytes, parseEnd, parseHeader } from "../store/backup/format.ts";

/** A backup whose checksum is right. */
export interface CheckedBackup {
  header: BackupHeader;
  /** Reads all of it again. @throws Error with one line, after the last bytes, if the file has changed meanwhile */
  content(): AsyncGenerator<Buffer>;
}

/**
 * Reads and checks all of a backup, then lets `work` use it.
 * @throws Error with one line if it is not a backup, was cut off, or was changed since it was made; the errors of
 * `work`
 */
export async function withBackup<Result>(
  path: string,
  signal: AbortSignal,
  work: (backup: CheckedBackup) => Promise<Result>,
): Promise<Result> {
  const file = await open(path, "r");
  try {
    const header = parseHeader(await readText(file, 0, maxHeaderBytes));
    if (header === undefined) throw new Error(`${path} is not a backup made by stoa backup`);
    const length = (await file.stat()).size - endBytes;
    const sha256 = length > 0 ? parseEnd(await readText(file, length, endBytes)) : undefined;
    if (sha256 === undefined) throw new Error(`${path} is incomplete: its end is missing.`);
    async function* content(): AsyncGenerator<Buffer> {
      const hash = createHash("sha256");
      const stream = file.createReadStream({ start: 0, end: length - 1, autoClose: false, highWaterMark: 256 * 1024 });
      for await (const bytes of stream as AsyncIterable<Buffer>) {
        signal.throwIfAborted();
        hash.update(bytes);
        yield bytes;
      }
      if (hash.digest("hex") !== sha256)
        throw new Error(`${path} was changed since it was made: its checksum is wrong`);
    }
    for await (const _ of content());
    return await work({ header, content });
  } finally {
    await file.close();
  }
}

async function readText(file: FileHandle, position: number, length: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.toString("latin1", 0, bytesRead);
}
