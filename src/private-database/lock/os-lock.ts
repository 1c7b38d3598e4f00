// Locks of the operating system on files (flock). Such a lock belongs to an open file, not to a process id: it ends with
// the last process that has the file open, however that process ends, and holds across containers and process namespaces.
import { spawnSync } from "node:child_process";
import { closeSync, constants, fstatSync, openSync, statSync } from "node:fs";
import { sleep } from "../../timing/wait.ts";

export interface OsLock {
  /** The open file. A process that inherits it holds the lock as well. */
  readonly fd: number;
  /** Closes the file here. Where no other process has inherited it, the lock is free then. May be called again. */
  release(): void;
}

/** open(2) of macOS and FreeBSD locks by this flag; Node.js passes it on. */
const openExclusively = 0x20;
const locksByOpen = process.platform === "darwin" || process.platform === "freebsd";
/** What flock(1) ends with when the lock is held. */
const isHeld = 1;
const attempts = 10;
const endingMs = 1_000;
const pollMs = 50;

/**
 * Locks a file, which is made where it is missing.
 * @returns undefined when somebody else holds the lock
 * @throws Error when the file cannot be opened, or the file system has no locks
 */
export function tryLock(path: string): OsLock | undefined {
  return lockOpened(path, constants.O_CREAT);
}

/**
 * As `tryLock`, for a lock whose holder may just be ending: a process that was killed has its files open for a moment.
 * @param isFinal whether the holder is known to stay
 */
export async function lockSoon(path: string, isFinal = () => false): Promise<OsLock | undefined> {
  const deadline = performance.now() + endingMs;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== undefined || performance.now() > deadline || isFinal()) return lock;
    await sleep(pollMs);
  }
}

/** As `tryLock`; undefined too when there is no such file. */
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
    // Somebody may have removed the file before it was locked: a lock on what has no name any more keeps nobody out.
    if (isAt(path, fd)) return lockOn(fd);
    closeSync(fd);
  }
  throw new Error(`${path} cannot be locked: it is replaced again and again`);
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

/** Node.js has no flock(2). The program locks the open file that it inherits from here, and the lock outlasts it. */
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
