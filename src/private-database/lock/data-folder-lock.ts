// One service at a time per data folder, by a lock of the operating system on the file `lock` in it. What the file holds
// only serves to name the process in messages. The file stays: who removed it might remove what another has just locked.
import { fstatSync, ftruncateSync, readFileSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { lockSoon, type OsLock } from "./os-lock.ts";
import { identify, isRunning, type ProcessIdentity, parseIdentity } from "./process-identity.ts";

/** Another process has the data folder. */
export class DataFolderInUse extends Error {
  override readonly name = "DataFolderInUse";

  /** @param by who has it */
  constructor(dataDir: string, by: string) {
    super(`the data folder ${dataDir} is in use by ${by}; stop it first or set STOA_DATA_DIR`);
  }
}

/** The holder as the file has it. */
interface Holder {
  identity: ProcessIdentity | undefined;
  /** False for a service of before these locks, which held the folder as long as its process ran. */
  isLocking: boolean;
}

const maxBytes = 1024;
/** What is said of a process whose lock alone is known. */
export const unseen = "that cannot be seen from here, such as one in another container";

/**
 * Takes the data folder for this process.
 * @returns a function that gives it back
 * @throws DataFolderInUse that names the process which has it
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
  // A second name might be that of somebody else's file.
  if (fstatSync(fd).nlink !== 1) return;
  try {
    ftruncateSync(fd);
    writeSync(fd, content, 0);
  } catch {
    // The disk may be full. The lock holds without its name.
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
