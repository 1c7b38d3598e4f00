import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

/** What a process's memory is used for, in bytes. */
export interface MemoryUse {
  /** What was reachable in the heap at its last full collection; 0 where that was too long ago to count. */
  heapLive: number;
  /** What V8 may use for the heap. Beyond it the process ends. */
  heapLimit: number;
  resident: number;
  /** Buffers and the like, which are not in the heap. */
  external: number;
}

/** For how long a full collection tells what is reachable, in milliseconds. Where there is much garbage they are rare. */
const freshMs = 10_000;

/**
 * Tells how much memory is in use. The heap's size alone would not do: just before a collection it is mostly garbage, so it
 * is read when one has ended.
 */
export class MemoryProbe {
  readonly #observer: PerformanceObserver;
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
    return { heapLive, heapLimit, resident: process.memoryUsage.rss(), external };
  }

  close(): void {
    this.#observer.disconnect();
  }
}
