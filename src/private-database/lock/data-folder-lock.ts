// One service at a time may use a data folder. It holds an operating system's lock on the file `lock` in the folder. The
// content of the file only names the process in messages. The file is never removed, because another process might just
// have locked it.
import { fstatSync, ftruncateSync, readFileSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { lockSoon, type OsLock } from "./os-lock.ts";
import { identify, isRunning, type ProcessIdentity, parseIdentity } from "./process-identity.ts";

/** Another process uses the data folder. */
export class DataFolderInUse extends Error {
  override readonly name = "DataFolderInUse";

  /** @param by the process that uses it */
  constructor(dataDir: string, by: string) {
    super(`the data folder ${dataDir} is in use by ${by}; stop it first or set STOA_DATA_DIR`);
  }
}

/** The holder of the lock, as the file names it. */
interface Holder {
  identity: ProcessIdentity | undefined;
  /** False for an older service without these locks. It uses the folder as long as its process runs. */
  isLocking: boolean;
}

const maxBytes = 1024;
/** The description of a process of which only the lock is known. */
export const unseen = "that cannot be seen from here, such as one in another container";

/**
 * Locks the data folder for this process.
 * @returns a function that unlocks it
 * @throws DataFolderInUse that names the process that uses it
 */
export async function takeLock(dataDir: string): Promise<() => void> {
  const path = join(dataDir, "lock");
  const holder = () => parseHolder(readFileSync(path, "utf8"));
  const lock = await lockSoon(path, () => isSeen(holder()));
  if (lock === undefined) throw new DataFolderInUse(dataDir, nameOf(holder()));
  const before = parseHolder(contentOf(lock));
  if (!before.isLocking && isSeen(before)) {
    lock.release();
    throw new DataFolderInUse(dataDir, nameOf(before));
  }
  write(lock, JSON.stringify({ ...identify(process.pid), locking: true }));
  return () => {
    write(lock, "");
    lock.release();
  };
}

function isSeen({ identity }: Holder): boolean {
  return identity !== undefined && isRunning(identity);
}

function nameOf(holder: Holder): string {
  return isSeen(holder) ? `process ${holder.identity?.pid}` : `a process ${unseen}`;
}

function contentOf({ fd }: OsLock): string {
  const buffer = Buffer.alloc(maxBytes);
  return buffer.toString("utf8", 0, readSync(fd, buffer, 0, maxBytes, 0));
}

function write({ fd }: OsLock, content: string): void {
  // A second link might belong to somebody else's file.
  if (fstatSync(fd).nlink !== 1) return;
  try {
    ftruncateSync(fd);
    writeSync(fd, content, 0);
  } catch {
    // The disk may be full. The lock does not need the content.
  }
}

function parseHolder(content: string): Holder {
  try {
    const value: unknown = JSON.parse(content);
    return { identity: parseIdentity(value), isLocking: (value as { locking?: unknown } | null)?.locking === true };
  } catch {
    return { identity: undefined, isLocking: false };
  }
}
