import { readFileSync } from "node:fs";
import type { Child } from "./child.ts";

/** A measured server. */
export interface Side {
  child: Child;
  memory: MemoryWatch;
}

/** Watches the memory of a server from its start. `cleanUp` ends both. */
export async function watch(starting: Promise<Child>, cleanUp: AsyncDisposableStack): Promise<Side> {
  const child = await starting;
  cleanUp.defer(() => child.stop());
  const memory = new MemoryWatch(child.pid);
  cleanUp.defer(() => memory.stop());
  return { child, memory };
}

/** Watches the resident memory of a process, in MiB. Without /proc, all values are undefined. */
export class MemoryWatch {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #peak: number | undefined;
  #recent: number | undefined;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.#sample(), 200);
  }

  /** Returns the maximum since the previous call. */
  takeRecent(): number | undefined {
    this.#sample();
    const recent = this.#recent;
    this.#recent = undefined;
    return recent;
  }

  /** Returns the maximum since the start, as the system counts it. */
  peak(): number | undefined {
    this.#sample();
    return this.#peak;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    try {
      const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
      this.#peak = mebibytes(status, "VmHWM") ?? this.#peak;
      this.#recent = Math.max(this.#recent ?? 0, mebibytes(status, "VmRSS") ?? 0);
    } catch {
      // There is no /proc, or the process has ended. The values seen so far remain.
    }
  }
}

function mebibytes(status: string, name: string): number | undefined {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status);
  return match ? Number(match[1]) / 1024 : undefined;
}
