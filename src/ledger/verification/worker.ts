// A thread that verifies pages of receipts; see WorkerPool. It reads nothing and remembers nothing between pages.
import { parentPort } from "node:worker_threads";
import { type Page, verifyBatch } from "./batch.ts";

parentPort?.on("message", (page: Page) => {
  const outcome = verifyBatch(page);
  // The buffer goes back to be filled again: memory stays what it is, however long the chain.
  const { buffer } = page.bytes;
  parentPort?.postMessage({ outcome, buffer }, [buffer]);
});
