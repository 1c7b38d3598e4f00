import { writeSync } from "node:fs";

/** How much may wait for a reader of the log that does not keep up, in bytes. What comes beyond is dropped. */
const maxWaitingBytes = 1024 * 1024;
/** How long to wait before the next try, in milliseconds. */
const retryMs = 100;

/**
 * Writes log lines to a file descriptor. Each is written at once, so that the last line of a process that ends is there.
 * Whoever reads them must not be able to stop the service: where a pipe is full, lines wait for a while and are dropped
 * then; where its reader has gone, all are.
 */
export class LogOutput {
  readonly #fd: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isBroken = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param fd where writes do not block */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Writes a line, or has it wait. */
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
    const msg = "log lines were dropped, for nobody read them in time";
    this.write(`${JSON.stringify({ level: 40, time: Date.now(), pid: process.pid, dropped, msg })}\n`);
  }

  /** @returns how many bytes have been taken */
  #tryToWrite(bytes: Buffer): number {
    try {
      return writeSync(this.#fd, bytes);
    } catch (error) {
      // Anything else may pass: a full pipe, a full disk.
      if ((error as NodeJS.ErrnoException).code !== "EPIPE") return 0;
      this.#isBroken = true;
      this.#waiting = [];
      return 0;
    }
  }
}
