import type { Request } from "../protocols.ts";

/** The outcomes of one round. Times are in milliseconds. */
export interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  /** The first few failures as text. */
  failures: string[];
  /** How many calls failed. */
  failed: number;
}

export interface Load {
  url: string;
  seconds: number;
  /** The requests that each connection (or stream, over HTTP/2) makes in turn. */
  requests: Request[][];
  signal: AbortSignal;
}

/** Collects the outcomes of a round. Only calls that end within its time count. */
export class Recorder {
  readonly #latencies: number[] = [];
  readonly #failures: string[] = [];
  #failed = 0;

  succeeded(milliseconds: number): void {
    this.#latencies.push(milliseconds);
  }

  failed(what: string): void {
    this.#failed += 1;
    if (this.#failures.length < 3) this.#failures.push(what);
  }

  result(seconds: number): Round {
    const sorted = Float64Array.from(this.#latencies).sort();
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
    if (sorted.length === 0) this.failed("no call succeeded");
    const { length } = sorted;
    return { perSecond: length / seconds, p50: at(0.5), p99: at(0.99), failures: this.#failures, failed: this.#failed };
  }
}
