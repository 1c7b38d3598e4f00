import { on } from "node:events";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Link } from "../../receipt/verify.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { readHead } from "../../store/tables/receipts.ts";
import { type PageVerifier, type Verified, verifyFrom } from "./verification.ts";

export interface ThreadOptions {
  /** Ends the threads. `db` must stop reading then, too. */
  signal: AbortSignal;
  /** Called when a thread has failed. */
  onFailure(error: unknown): void;
  /** With fewer receipts than this to verify, no threads are started. */
  minReceipts?: number;
  /** The program of the threads. */
  program?: URL;
}

/** Verifying this many receipts takes a few times as long as starting the threads. */
const defaultMinReceipts = 25_000;
const defaultProgram = new URL("./thread-program.ts", import.meta.url);
/** The pages for each thread: one that it verifies, and the next one. */
const pagesPerThread = 2;
/** The heap limits of a thread, in MiB: several times what the largest page needs. */
const resourceLimits = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 8 };

/**
 * Verifies like `verifyFrom`, with the same result. This thread reads the pages, and others verify them, so that this one can
 * serve meanwhile. If a thread fails, this one verifies alone.
 */
export async function verifyInThreads(db: Queryable, start: Link, options: ThreadOptions): Promise<Verified> {
  const { signal, onFailure, minReceipts = defaultMinReceipts, program = defaultProgram } = options;
  if ((await readHead(db)).seq - start.seq < minReceipts) return verifyFrom(db, start);
  signal.throwIfAborted();
  /** Aborts when a thread has ended, with the reason. */
  const ended = new AbortController();
  const threads = Array.from({ length: Math.min(availableParallelism(), 2) }, () => startThread(program, ended));
  const end = () => threads.map(({ worker }) => worker.terminate());
  signal.addEventListener("abort", end);
  let turn = 0;
  const verify: PageVerifier = (...page) => (threads[turn++ % threads.length] as Thread).verify(...page);
  try {
    return await verifyFrom(db, start, verify, threads.length * pagesPerThread);
  } catch (error) {
    signal.throwIfAborted();
    if (!ended.signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", end);
    await Promise.all(end());
  }
  onFailure(ended.signal.reason);
  return verifyFrom(db, start);
}

interface Thread {
  worker: Worker;
  verify: PageVerifier;
}

function startThread(program: URL, ended: AbortController): Thread {
  const worker = new Worker(program, { name: "verification", resourceLimits, execArgv: [] });
  worker.on("error", (error) => ended.abort(error));
  worker.on("messageerror", (error) => ended.abort(error));
  worker.on("exit", (code) => ended.abort(new Error(`A thread that verifies receipts has ended by itself (${code}).`)));
  // The results come in the order of the pages.
  const results = on(worker, "message", { signal: ended.signal });
  return {
    worker,
    async verify(start, rows) {
      worker.postMessage({ start, rows });
      const { value } = await results.next();
      return value?.[0];
    },
  };
}
