import { Worker } from "node:worker_threads";
import type { ReceiptRow } from "../../store/tables/receipts.ts";
import { type BatchOutcome, type Page, packBatch } from "./batch.ts";

/** What the heap of a thread may take, in MiB: several times what the largest page and all that is read of it do. */
const resourceLimits = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 8 };

export interface WorkerPoolOptions {
  /** How many threads. */
  size: number;
  /** Hears of the first failure of a thread; the whole crew is of no use then. */
  onFailure(error: unknown): void;
  /** What the threads run. */
  program?: URL | undefined;
}

interface Hand {
  worker: Worker;
  /** The pages that it has, the oldest first. */
  pages: PromiseWithResolvers<BatchOutcome>[];
}

/** Threads that verify pages, for one verification: they are started for it and ended with it. */
export class WorkerPool {
  readonly #hands: Hand[];
  /** Where pages were in that are verified. */
  readonly #buffers: ArrayBuffer[] = [];
  readonly #onFailure: (error: unknown) => void;
  #over = false;

  constructor({ size, onFailure, program }: WorkerPoolOptions) {
    this.#onFailure = onFailure;
    const url = program ?? new URL("./worker.ts", import.meta.url);
    this.#hands = Array.from({ length: size }, () => this.#hire(url));
  }

  /**
   * Has a page verified. The rows are copied before this returns.
   * @param rows follow `previous` without a gap
   * @returns undefined also when a thread has failed, or the crew was ended: nothing is known of the page then
   */
  async verify(previous: Page["previous"], rows: readonly ReceiptRow[]): Promise<BatchOutcome> {
    const page = this.#over ? undefined : packBatch(previous, rows, this.#buffers.pop());
    if (page === undefined) return undefined;
    const hand = this.#hands.reduce((least, each) => (each.pages.length < least.pages.length ? each : least));
    const outcome = Promise.withResolvers<BatchOutcome>();
    hand.pages.push(outcome);
    hand.worker.postMessage(page, [page.bytes.buffer]);
    return outcome.promise;
  }

  /** Ends the threads, whatever they are doing; resolves when they are gone. */
  async end(): Promise<void> {
    this.#giveUp();
    await Promise.all(this.#hands.map(({ worker }) => worker.terminate()));
  }

  #hire(program: URL): Hand {
    const worker = new Worker(program, { name: "verification", resourceLimits, execArgv: [] });
    const hand: Hand = { worker, pages: [] };
    worker.on("message", ({ outcome, buffer }: { outcome: BatchOutcome; buffer: ArrayBuffer }) => {
      this.#buffers.push(buffer);
      hand.pages.shift()?.resolve(outcome);
    });
    const fail = (error: unknown) => {
      if (!this.#over) this.#onFailure(error);
      this.#giveUp();
    };
    worker.on("error", fail);
    worker.on("messageerror", fail);
    worker.on("exit", (code) => fail(new Error(`A thread that verifies receipts has ended by itself (${code}).`)));
    return hand;
  }

  /** Nobody waits for what does not come. */
  #giveUp(): void {
    this.#over = true;
    for (const { pages } of this.#hands) for (const { resolve } of pages.splice(0)) resolve(undefined);
  }
}
