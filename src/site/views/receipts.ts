import type { Receipt } from "../../../gen/stoa/v1/receipt_pb.js";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { count } from "../text.ts";
import { pager } from "./links.ts";
import { describeReceipt, timeOf } from "./receipt-text.ts";

/**
 * A page of receipts, newest first.
 * @param headSeq the seq of the newest receipt of the chain
 * @param hasLog whether the board has a log
 */
export function receiptsView(receipts: Receipt[], headSeq: bigint, hasLog: boolean): Page {
  const newest = receipts[0]?.seq;
  const oldest = receipts.at(-1)?.seq ?? 1n;
  const isLater = newest !== headSeq;
  return {
    title: "The ledger · Stoa",
    description: "The ledger of sealed receipts. Each holds the SHA-256 hash of the previous one.",
    path: isLater ? undefined : "/house/receipts",
    json: "/api/v1/house/receipts",
    section: "ledger",
    isCacheable: !receipts.some(({ damaged }) => damaged),
    isNarrow: true,
    main: html`<h1>The ledger</h1>
<p class="lede">Each receipt holds the hash of the previous one. If you remember one hash, you can prove any later change of that receipt and of all earlier ones. There ${headSeq === 1n ? "is 1 receipt" : `are ${count(headSeq)} receipts`}. Open one to verify it in your browser.</p>
${hasLog && html`<p>What is said has its proofs in <a href="/log">the log</a>.</p>`}
<ol class="receipts">
${receipts.map(
  (receipt) => html`<li>
<p class="seq"><a href="/house/receipts/${receipt.seq}" aria-label="Receipt ${receipt.seq}">${count(receipt.seq)}</a></p>
<div>
<p class="what"><bdi>${describeReceipt(receipt)}</bdi></p>
${receipt.damaged && html`<p class="damaged">This receipt is damaged.</p>`}
<p class="meta">${timeOf(receipt)}</p>
<p class="hash">${receipt.hash}</p>
</div>
</li>
`,
)}</ol>
${pager(isLater ? "/house/receipts" : undefined, oldest > 1n ? `/house/receipts?to=${oldest - 1n}` : undefined, {
  firstText: "Newest receipts",
  nextText: "Earlier receipts",
})}`,
  };
}
