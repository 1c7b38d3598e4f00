import { Worker } from "node:worker_threads";
import type { ReceiptRow } from "../../store/tables/receipts.ts";
import { type Batch, type BatchOutcome, packBatch } from "./batch.ts";

/** The heap limits of a thread, in MiB: several times what the largest batch needs. */
const resourceLimits = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 8 };

export interface WorkerPoolOptions {
  /** The number of threads. */
  size: number;
  /** Called at the first failure of a thread. The whole pool stops working then. */
  onFailure(error: unknown): void;
  /** The program of the threads. */
  program?: URL | undefined;
}

interface PoolWorker {
  thread: Worker;
  /** The batches that it was given and has not finished, the oldest first. */
  pending: PromiseWithResolvers<BatchOutcome>[];
}

/** Threads that verify batches, for one verification. They start and end with it. */
export class WorkerPool {
  readonly #workers: PoolWorker[];
  /** The buffers of finished batches, to be used again. */
  readonly #buffers: ArrayBuffer[] = [];
  readonly #onFailure: (error: unknown) => void;
  #isOver = false;

  constructor({ size, onFailure, program }: WorkerPoolOptions) {
    this.#onFailure = onFailure;
    const url = program ?? new URL("./worker.ts", import.meta.url);
    this.#workers = Array.from({ length: size }, () => this.#startWorker(url));
  }

  /**
   * Has a thread verify a batch. The rows are copied before this returns.
   * @param rows follow `previous` without a gap
   * @returns the outcome; undefined also if a thread has failed or the pool has ended, when nothing is known of the
   * batch
   */
  async verify(previous: Batch["previous"], rows: readonly ReceiptRow[]): Promise<BatchOutcome> {
    const batch = this.#isOver ? undefined : packBatch(previous, rows, this.#buffers.pop());
    if (batch === undefined) return undefined;
    const worker = this.#workers.reduce((least, each) => (each.pending.length < least.pending.length ? each : least));
    const outcome = Promise.withResolvers<BatchOutcome>();
    worker.pending.push(outcome);
    worker.thread.postMessage(batch, [batch.bytes.buffer]);
    return outcome.promise;
  }

  /** Ends the threads, whatever they are doing. Resolves when they have ended. */
  async end(): Promise<void> {
    this.#giveUp();
    await Promise.all(this.#workers.map(({ thread }) => thread.terminate()));
  }

  #startWorker(program: URL): PoolWorker {
    const thread = new Worker(program, { name: "verification", resourceLimits, execArgv: [] });
    const worker: PoolWorker = { thread, pending: [] };
    thread.on("message", ({ outcome, buffer }: { outcome: BatchOutcome; buffer: ArrayBuffer }) => {
      this.#buffers.push(buffer);
      worker.pending.shift()?.resolve(outcome);
    });
    const fail = (error: unknown) => {
      if (!this.#isOver) this.#onFailure(error);
      this.#giveUp();
    };
    thread.on("error", fail);
    thread.on("messageerror", fail);
    thread.on("exit", (code) => fail(new Error(`A thread that verifies receipts has ended by itself (${code}).`)));
    return worker;
  }

  /** Settles all pending batches without a result. */
  #giveUp(): void {
    this.#isOver = true;
    for (const { pending } of this.#workers) for (const { resolve } of pending.splice(0)) resolve(undefined);
  }
}
