import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

/** How a process uses its memory, in bytes. */
export interface MemoryUse {
  /** What was reachable in the heap at its last full collection; 0 if that was too long ago. */
  heapLive: number;
  /** What V8 may use for the heap. The process ends if it needs more. */
  heapLimit: number;
  resident: number;
  /** Buffers and other memory outside the heap. */
  external: number;
}

/** How long the result of a full collection counts, in milliseconds. Such collections are rare if there is much garbage. */
const freshMs = 10_000;

/**
 * Reads how much memory is in use. The size of the heap is read just after a collection, because just before one it is
 * mostly garbage.
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
