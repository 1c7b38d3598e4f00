// A thread that verifies batches of receipts; see WorkerPool. It reads nothing, and keeps nothing between two batches.
import { parentPort } from "node:worker_threads";
import { type Batch, verifyBatch } from "./batch.ts";

parentPort?.on("message", (batch: Batch) => {
  const outcome = verifyBatch(batch);
  // The buffer goes back to be filled again, so that memory does not grow with the chain.
  const { buffer } = batch.bytes;
  parentPort?.postMessage({ outcome, buffer }, [buffer]);
});
