// The thread that verifies pages of receipts; see `verifyInThreads`. It keeps nothing between two pages.
import { parentPort } from "node:worker_threads";
import type { Link } from "../../receipt/verify.ts";
import type { ReceiptRow } from "../../store/tables/receipts.ts";
import { verifyPage } from "./page.ts";

parentPort?.on("message", ({ start, rows }: { start: Link; rows: ReceiptRow[] }) => {
  parentPort?.postMessage(verifyPage(start, rows));
});
