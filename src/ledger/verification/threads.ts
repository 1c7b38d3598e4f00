import { on } from "node:events";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Link } from "../../receipt/verify.ts";
import type { DatabaseOptions } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { readHead } from "../../store/tables/receipts.ts";
import { type Verified, verifyFrom } from "./verification.ts";

export interface ThreadOptions {
  /** The database, to which each thread connects. Without it there are no threads. */
  address: DatabaseOptions["address"] | undefined;
  /** Ends the threads. */
  signal: AbortSignal;
  /** Called when a thread has failed. */
  onFailure(error: unknown): void;
  /** With fewer receipts than this to verify, no threads are started. */
  minReceipts?: number;
  /** How many receipts a thread verifies before it reports that they are good. */
  rangeLength?: number;
  /** The program of the threads. */
  program?: URL;
}

/** What a thread has to do: every `step`-th range, from the range of number `first` on. */
export interface ThreadTask {
  address: DatabaseOptions["address"];
  /** The receipt before the first range. */
  start: Link;
  /** No range begins after this receipt. */
  head: number;
  rangeLength: number;
  first: number;
  step: number;
}

/** Verifying this many receipts takes about as long as starting the threads. */
const defaultMinReceipts = 50_000;
const defaultRangeLength = 10_000;
const defaultProgram = new URL("./thread-program.ts", import.meta.url);
/** The heap limits of a thread, in MiB: several times what it needs. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 8 };

/**
 * Verifies like `verifyFrom`, with the same result. Of a long chain, threads find out how many receipts from the start are
 * good, so that this thread can serve meanwhile. `verifyFrom` then verifies the rest, and it alone finds the first bad receipt
 * or the end of the chain. A thread that fails costs time, but does not change the result.
 */
export async function verifyInThreads(db: Queryable, start: Link, options: ThreadOptions): Promise<Verified> {
  const { seq: head } = await readHead(db);
  const { address, minReceipts = defaultMinReceipts } = options;
  const isLong = address !== undefined && head - start.seq >= minReceipts;
  const good = isLong ? await passGoodRanges(start, head, address, options) : start;
  const { link, finding } = await verifyFrom(db, good);
  return { link, count: link.seq - start.seq, finding };
}

/** @returns the last receipt of the good ranges that follow `start` */
async function passGoodRanges(
  start: Link,
  head: number,
  address: ThreadTask["address"],
  { signal, onFailure, rangeLength = defaultRangeLength, program = defaultProgram }: ThreadOptions,
): Promise<Link> {
  signal.throwIfAborted();
  /** Aborts when a thread has failed, with the reason. */
  const failed = new AbortController();
  const step = Math.min(availableParallelism(), 2);
  const threads = Array.from({ length: step }, (_, first) => {
    const workerData: ThreadTask = { address, start, head, rangeLength, first, step };
    const thread = new Worker(program, { name: "verification", workerData, resourceLimits, execArgv: [] });
    thread.on("error", (error) => failed.abort(error));
    return { thread, results: on(thread, "message", { signal: failed.signal, close: ["exit"] }) };
  });
  const end = () => Promise.all(threads.map(({ thread }) => thread.terminate()));
  signal.addEventListener("abort", end);
  let good = start;
  try {
    for (let range = 0; good.seq < head; range++) {
      const { value, done } = await (threads[range % step] as (typeof threads)[number]).results.next();
      // The thread has found a bad receipt, or has ended.
      if (done || value[0] === undefined) break;
      good = value[0];
    }
  } catch {
    signal.throwIfAborted();
    onFailure(failed.signal.reason);
  } finally {
    signal.removeEventListener("abort", end);
    await end();
  }
  signal.throwIfAborted();
  return good;
}
