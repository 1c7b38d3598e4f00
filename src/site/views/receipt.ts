import type { Receipt, VerifyCommands } from "../../../gen/stoa/v1/receipt_pb.js";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { describeReceipt, groupedHash, objectOf, prettyPrint, textOf, timeOf } from "./receipt-text.ts";

export interface ReceiptPage {
  receipt: Receipt;
  commands: VerifyCommands;
  /** Whether there is a receipt after this one. */
  hasNext: boolean;
  site: string;
  /** The script of the page, behind the modules that it imports. */
  modules: readonly string[];
}

/** A receipt, with what it takes to verify it: in this browser, in a shell, or by a program of one's own. */
export function receiptView({ receipt, commands, hasNext, site, modules }: ReceiptPage): Page {
  const { seq, hash, prevHash, canonical } = receipt;
  const evidence = prettyPrint(objectOf(receipt.document).evidence);
  return {
    title: `Receipt ${seq} · Stoa`,
    description: `${describeReceipt(receipt)}. SHA-256 ${hash}.`,
    path: `/house/receipts/${seq}`,
    json: `/api/v1/house/receipts/${seq}`,
    section: "ledger",
    type: "article",
    modules,
    isCacheable: !receipt.damaged,
    main: html`<nav class="pager neighbours" aria-label="Neighbouring receipts">
${seq > 1n && html`<a href="/house/receipts/${seq - 1n}" rel="prev">Receipt ${seq - 1n}</a>`}
${hasNext && html`<a class="next" href="/house/receipts/${seq + 1n}" rel="next">Receipt ${seq + 1n}</a>`}
</nav>
${
  receipt.damaged &&
  html`<div class="damaged" role="alert">
<p class="title">This receipt is damaged</p>
<p>Its bytes do not hash to its hash, or its document names another number or another receipt before it, or a verification of the chain has found it to be the first that does not verify. It is shown as it is stored. The chain does not verify from here on.</p>
</div>`
}
<article class="stele">
<header>
<h1>Receipt ${seq}</h1>
<p class="what"><bdi>${describeReceipt(receipt)}</bdi></p>
<p class="meta">${timeOf(receipt)}</p>
</header>
<dl class="seal">
<div><dt>Hash</dt><dd>${groupedHash(hash)}</dd></div>
<div><dt>Hash of the receipt before</dt><dd>${groupedHash(prevHash)}</dd></div>
${members(receipt)}
</dl>
</article>
${verification(seq, hash)}
<section aria-labelledby="shell">
<h2 id="shell">In a shell</h2>
<p>Independent of this page, with <code>curl</code>, <code>jq</code> and <code>sha256sum</code>. The first two print the hash, the third prints that of the receipt before.</p>
${[commands.bytes, commands.rebuild, commands.prev, commands.chain].map(
  (command) => html`<pre tabindex="0"><code>${command}</code></pre>
`,
)}
<p>The whole chain, recomputed on your own machine, which also remembers the newest receipt it saw and notices when history has changed since:</p>
<pre tabindex="0"><code>stoa verify ${site}</code></pre>
</section>
<section aria-labelledby="bytes">
<h2 id="bytes">The sealed bytes</h2>
<p>This text, in UTF-8, is what is hashed. <a href="/api/v1/house/receipts/${seq}/canonical">As a file</a>, <a href="/api/v1/house/receipts/${seq}">as JSON with everything around it</a>.</p>
<pre class="canonical" tabindex="0"><code><bdi>${canonical}</bdi></code></pre>
${
  evidence !== undefined &&
  html`<h3>Its evidence, set out to be read</h3>
<pre class="canonical" tabindex="0"><code><bdi>${evidence}</bdi></code></pre>`
}
</section>`,
  };
}

/** What the document says, as far as it says it in plain values. */
function members({ document }: Receipt): Html[] {
  const { book, actor, body } = objectOf(document);
  const { agent, seat } = objectOf(actor);
  const { note, count, verify_ok, abandoned_seq, abandoned_hash } = objectOf(body);
  const sealedBy = textOf(agent) === undefined ? undefined : `${textOf(agent)}, ${textOf(seat) ?? "no seat"}`;
  const rows: [string, string | undefined][] = [
    ["Sealed by", sealedBy],
    ["Book", textOf(book)],
    ["Receipts before", textOf(count)],
    ["The chain verified then", verify_ok === undefined ? undefined : verify_ok === true ? "yes" : "no"],
    ["Abandoned receipt", textOf(abandoned_seq)],
    ["Its hash", textOf(abandoned_hash)],
    ["Note", textOf(note) === "" ? undefined : textOf(note)],
  ];
  return rows
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd dir="auto">${value}</dd></div>`);
}

/** The script fills this in; without it the page says what to do instead. */
function verification(seq: bigint, hash: string): Html {
  return html`<section class="verification" id="verification" data-seq="${seq}" data-hash="${hash}" aria-labelledby="verify">
<h2 id="verify">In your browser</h2>
<p>Your browser fetches the sealed bytes and recomputes their hashes itself, by the same code that the server and <code>stoa verify</code> use.</p>
<p class="fallback">That takes JavaScript. Without it, the commands below do the same.</p>
<div class="actions" hidden>
<button type="button" data-extent="receipt">Verify this receipt</button>
${seq > 1n && html`<button type="button" data-extent="start">… and back to the start</button>`}
<button type="button" data-extent="head">… and on to the newest</button>
<button type="button" class="cancel" hidden>Cancel</button>
</div>
<progress hidden aria-label="Verified so far"></progress>
<div class="verdict" role="status"></div>
<details>
<summary>What this proves, and what it does not</summary>
<p>A green verdict proves that the bytes your browser was given hash to what is shown, that each receipt names the hash of the one before, and that they follow every rule of the format. Nobody can then change one of them without changing the last hash: write that down, and compare it later or with others.</p>
<p>It does not prove that others are shown the same chain: a server that shows different chains to different people is found out only when they compare hashes. Nor does it prove that what was sealed is true. And the code that verified came from this very server; <code>stoa verify</code>, or <a href="#shell">the commands below</a>, rely on none of it.</p>
</details>
</section>`;
}
