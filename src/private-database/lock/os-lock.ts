// The operating system's locks on files (flock). Such a lock belongs to an open file, not to a process id. It ends when the
// last process that has the file open ends, in whatever way. It also works across containers and process namespaces.
import { spawnSync } from "node:child_process";
import { closeSync, constants, fstatSync, openSync, statSync } from "node:fs";
import { sleep } from "../../timing/wait.ts";

export interface OsLock {
  /** The open file. A process that inherits it holds the lock as well. */
  readonly fd: number;
  /** Closes the file. The lock is then free, unless another process has inherited the file. May be called again. */
  release(): void;
}

/** The flag by which open(2) of macOS and FreeBSD locks the file. Node.js passes it on. */
const openExclusively = 0x20;
const locksByOpen = process.platform === "darwin" || process.platform === "freebsd";
/** The exit code of flock(1) when another process holds the lock. */
const isHeld = 1;
const attempts = 10;
const endingMs = 1_000;
const pollMs = 50;

/**
 * Locks a file. A missing file is created.
 * @returns undefined when another process holds the lock
 * @throws Error when the file cannot be opened, or the file system has no locks
 */
export function tryLock(path: string): OsLock | undefined {
  return lockOpened(path, constants.O_CREAT);
}

/**
 * Like `tryLock`, but waits a moment for a holder that is just ending: a killed process has its files open a little longer.
 * @param isFinal whether the holder is known to keep the lock
 */
export async function lockSoon(path: string, isFinal = () => false): Promise<OsLock | undefined> {
  const deadline = performance.now() + endingMs;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== undefined || performance.now() > deadline || isFinal()) return lock;
    await sleep(pollMs);
  }
}

/** Like `tryLock`, but returns undefined when there is no such file. */
export function tryLockExisting(path: string): OsLock | undefined {
  try {
    return lockOpened(path, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function lockOpened(path: string, create: number): OsLock | undefined {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const fd = open(path, create);
    if (fd === undefined) return undefined;
    try {
      if (!locksByOpen && !flock(fd, path)) {
        closeSync(fd);
        return undefined;
      }
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    // The file may have been removed before it was locked. A lock on a file without a name keeps nobody out.
    if (isAt(path, fd)) return lockOn(fd);
    closeSync(fd);
  }
  throw new Error(`${path} cannot be locked: the file is replaced again and again`);
}

function lockOn(fd: number): OsLock {
  let isOpen = true;
  const release = () => {
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  return { fd, release };
}

function open(path: string, create: number): number | undefined {
  const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | create | (locksByOpen ? openExclusively : 0), 0o600);
  } catch (error) {
    if (locksByOpen && (error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
  }
}

/** Node.js has no flock(2). The program flock locks the open file that it inherits, and the lock outlasts the program. */
function flock(fd: number, path: string): boolean {
  const { status, error, stderr } = spawnSync("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "pipe", fd] });
  if (error !== undefined) {
    throw new Error(`${path} cannot be locked: the program flock of util-linux is needed (${error.message})`);
  }
  if (status !== 0 && status !== isHeld) throw new Error(`${path} cannot be locked: ${String(stderr).trim()}`);
  return status === 0;
}

function isAt(path: string, fd: number): boolean {
  const [named, opened] = [statSync(path, { throwIfNoEntry: false }), fstatSync(fd)];
  return named !== undefined && named.ino === opened.ino && named.dev === opened.dev;
}
