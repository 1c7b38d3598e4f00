import { constants, openSync, writeSync } from "node:fs";

/** How many bytes may wait for a slow reader. While so many wait, further lines are dropped. */
const maxWaitingBytes = 1024 * 1024;
/** How long to wait before the next attempt to write, in milliseconds. */
const retryMs = 100;

/**
 * A descriptor of a standard stream whose writes do not block. To a terminal Node.js writes with blocking, and one that is
 * frozen (Ctrl-S) would stop the process. So on Linux the terminal is opened once more.
 */
export function unblocked({ fd, isTTY }: { fd: number; isTTY: boolean }): number {
  if (!isTTY || process.platform !== "linux") return fd;
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // It is the terminal of another account.
    return fd;
  }
}

/**
 * Writes lines to a file descriptor. Writes are synchronous, so a process that ends has written its last line. A
 * slow reader cannot stop the service: while a pipe is full, lines wait in memory up to a limit, and further ones are
 * dropped. When the reader is gone, all lines are dropped.
 */
export class LogOutput {
  readonly #fd: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isBroken = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param fd a descriptor whose writes do not block */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Writes a line, or queues it. */
  write(line: string): void {
    if (this.#isBroken) return;
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > maxWaitingBytes) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#timer === undefined) this.#flush();
  }

  #flush(): void {
    this.#timer = undefined;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const written = this.#tryToWrite(next);
      if (this.#isBroken) return;
      this.#waitingBytes -= written;
      if (written < next.length) {
        this.#waiting[0] = next.subarray(written);
        this.#timer = setTimeout(() => this.#flush(), retryMs).unref();
        return;
      }
      this.#waiting.shift();
    }
    if (this.#dropped === 0) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    const msg = "log lines were dropped because nobody read them in time";
    const time = new Date().toISOString();
    this.write(`${JSON.stringify({ level: "warn", time, pid: process.pid, dropped, msg })}\n`);
  }

  /** @returns how many bytes were written */
  #tryToWrite(bytes: Buffer): number {
    try {
      return writeSync(this.#fd, bytes);
    } catch (error) {
      // Other errors may be temporary: a full pipe, a full disk.
      if ((error as NodeJS.ErrnoException).code !== "EPIPE") return 0;
      this.#isBroken = true;
      this.#waiting = [];
      return 0;
    }
  }
}
