// One process at a time may use a folder: it holds a lock of the operating system (flock) on the file `lock` in it. The
// lock ends with the process, however that ends, and works across containers of one machine. The content of the file is
// only for messages: the id of the process. The file is never removed, because another process may just have locked it.
import { spawnSync } from "node:child_process";
import { closeSync, constants, fchownSync, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { sleep } from "../timing/wait.ts";
import { ownerIn } from "./ownership.ts";

/** Another process uses the folder. */
export class DataFolderInUse extends Error {
  override readonly name = "DataFolderInUse";

  /** @param by the process that uses it */
  constructor(dataDir: string, by = "a process that cannot be seen from here, such as one in another container") {
    super(`the data folder ${dataDir} is in use by ${by}; stop it first or set STOA_DATA_DIR`);
  }
}

/** How long to wait for the lock, in milliseconds: the files of a killed process stay open for a moment. */
const endingMs = 1_000;
const pollMs = 50;
/** O_EXLOCK: with this flag, open(2) of macOS and FreeBSD locks the file. Node.js passes it on. */
const openExclusively = 0x20;
const locksByOpen = process.platform === "darwin" || process.platform === "freebsd";

/**
 * Locks a folder for this process. Waits up to a second for another process to unlock it.
 * @returns a function that unlocks it
 * @throws DataFolderInUse; Error when the file cannot be opened or locked
 */
export async function takeLock(dataDir: string): Promise<() => void> {
  const path = join(dataDir, "lock");
  for (const endsAt = performance.now() + endingMs; ; await sleep(pollMs)) {
    const file = tryLock(path);
    if (file !== undefined) {
      write(file, String(process.pid));
      return () => {
        write(file, "");
        closeSync(file);
      };
    }
    if (performance.now() > endsAt) throw new DataFolderInUse(dataDir, holderOf(path));
  }
}

/** Whether a process has locked the folder. @throws Error when the file cannot be opened or locked */
export function isLocked(dataDir: string): boolean {
  const file = tryLock(join(dataDir, "lock"));
  if (file !== undefined) closeSync(file);
  return file === undefined;
}

/** @returns the open file; undefined when another process holds the lock */
function tryLock(path: string): number | undefined {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  if (locksByOpen) {
    try {
      return openAsOwner(path, flags | openExclusively);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
      throw error;
    }
  }
  const file = openAsOwner(path, flags);
  // Node.js has no flock(2). The program flock locks the open file that it inherits, and the lock outlasts the program.
  const { status, error, stderr } = spawnSync("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "pipe", file] });
  if (status === 0) return file;
  closeSync(file);
  // The exit code of flock(1) when another process holds the lock.
  if (status === 1) return undefined;
  const reason =
    error === undefined ? String(stderr).trim() : `the program flock of util-linux is needed (${error.message})`;
  throw new Error(`${path} cannot be locked: ${reason}`);
}

/** Opens the file. One that root makes belongs to the owner of the folder, whose service must be able to open it. */
function openAsOwner(path: string, flags: number): number {
  const file = openSync(path, flags, 0o600);
  const owner = ownerIn(dirname(path));
  const { uid, nlink } = fstatSync(file);
  // With a second hard link, this may be another file of root.
  if (owner !== undefined && uid === 0 && nlink === 1) {
    try {
      fchownSync(file, owner.uid, owner.gid);
    } catch (error) {
      // A root that may not, as in some containers. The lock works all the same.
      if (!["EPERM", "EINVAL"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  return file;
}

/** The process that holds the lock; undefined if it cannot be seen from here. */
function holderOf(path: string): string | undefined {
  const pid = Number(/\d+/.exec(readFileSync(path, "utf8"))?.[0] ?? 0);
  try {
    return pid > 0 && process.kill(pid, 0) ? `process ${pid}` : undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? `process ${pid}` : undefined;
  }
}

function write(file: number, content: string): void {
  // With a second hard link, this may be another file of somebody else.
  if (fstatSync(file).nlink !== 1) return;
  try {
    ftruncateSync(file);
    writeSync(file, content, 0);
  } catch {
    // The disk may be full. The lock does not need the content.
  }
}
