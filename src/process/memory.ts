import { closeSync, openSync, readSync } from "node:fs";
import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

/** How a process uses its memory, in bytes. */
export interface MemoryUse {
  /** The live heap just after the last full garbage collection; 0 if that was too long ago. */
  heapLive: number;
  /** How large V8 lets the heap grow. If it needs more, the process ends. */
  heapLimit: number;
  resident: number;
  /** Buffers and other memory outside the heap. */
  external: number;
}

/** How long the result of a full collection counts, in milliseconds. They are frequent when the heap is nearly full. */
const freshMs = 10_000;

/**
 * Reads the resident memory of the process. Node opens a file for each reading, which fails when clients have used up
 * the open files of the process. So on Linux this keeps one file open.
 */
class ResidentMemory {
  readonly #file = openStatus();
  readonly #buffer = Buffer.alloc(4096);

  /** @returns bytes */
  read(): number {
    if (this.#file === undefined) return process.memoryUsage.rss();
    const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
    // See proc_pid_status(5). Its kB are 1,024 bytes.
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(this.#buffer.toString("latin1", 0, length));
    return line === null ? process.memoryUsage.rss() : 1024 * Number(line[1]);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

/** @returns undefined where there is no such file */
function openStatus(): number | undefined {
  try {
    return openSync("/proc/self/status", "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

/**
 * Reads how much memory is in use. The heap is measured just after full collections, because otherwise it includes
 * garbage.
 */
export class MemoryProbe {
  readonly #observer: PerformanceObserver;
  readonly #resident = new ResidentMemory();
  #heapLive = 0;
  #collectedAt = Number.NEGATIVE_INFINITY;

  constructor() {
    this.#observer = new PerformanceObserver((list) => {
      for (const { detail } of list.getEntries() as unknown as { detail: { kind: number } }[]) {
        if (detail.kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
        this.#heapLive = getHeapStatistics().used_heap_size;
        this.#collectedAt = performance.now();
      }
    });
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  read(): MemoryUse {
    const { used_heap_size: used, heap_size_limit: heapLimit, external_memory: external } = getHeapStatistics();
    const isFresh = performance.now() - this.#collectedAt < freshMs;
    const heapLive = isFresh ? Math.min(this.#heapLive, used) : 0;
    return { heapLive, heapLimit, resident: this.#resident.read(), external };
  }

  close(): void {
    this.#observer.disconnect();
    this.#resident.close();
  }
}
