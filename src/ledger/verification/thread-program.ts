// A thread that verifies ranges of the chain; see `verifyInThreads`. It sends the last receipt of each range that is good.
import { parentPort, workerData } from "node:worker_threads";
import type { Link } from "../../receipt/verify.ts";
import { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import type { ThreadTask } from "./threads.ts";
import { startBefore, verifyUpTo } from "./verification.ts";

const { address, start, head, rangeLength, first, step }: ThreadTask = workerData;
const db = new Database({ address, connections: 4 });
// The thread is terminated from outside.
const never = new AbortController().signal;

for (let range = first; ; range += step) {
  const after = start.seq + range * rangeLength;
  if (after >= head) break;
  parentPort?.postMessage(await db.onOneServer(never, (reader) => verifyRange(reader, after)));
}
await db.close();

/**
 * Verifies a range of the receipts after receipt `after`. Unless `after` is the start, it verifies that receipt again, because
 * the next one is compared with its time.
 * @returns the last receipt of the range; undefined if any is not good
 */
async function verifyRange(reader: Queryable, after: number): Promise<Link | undefined> {
  const before = after === start.seq ? start : await startBefore(reader, after);
  if ("fault" in before) return undefined;
  const { link, finding } = await verifyUpTo(reader, before, Math.min(after + rangeLength, head));
  return finding === undefined ? link : undefined;
}
