import type { Receipt, VerifyCommands } from "../../../gen/stoa/v1/receipt_pb.js";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { counted } from "../text.ts";
import { describeReceipt, groupedHash, objectOf, prettyPrint, textOf, timeOf } from "./receipt-text.ts";

export interface ReceiptPage {
  receipt: Receipt;
  commands: VerifyCommands;
  /** Whether there is a receipt after this one. */
  hasNext: boolean;
  site: string;
  /** The modules of the page. The last one is its script; the others are imports. */
  modules: readonly string[];
}

/** A receipt, and how to verify it: in the browser, in a shell or with another program. */
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
<p>One of these things is true: its bytes have another hash than the stored one, its document has another number or another previous hash, or it is the first receipt of the chain that does not verify. It is shown as it is stored. The chain does not verify from here on.</p>
</div>`
}
<article class="receipt">
<header>
<h1>Receipt ${seq}</h1>
<p class="what"><bdi>${describeReceipt(receipt)}</bdi></p>
<p class="meta">${timeOf(receipt)}</p>
</header>
<dl class="members">
<div><dt>Hash</dt><dd>${groupedHash(hash)}</dd></div>
<div><dt>Previous hash</dt><dd>${groupedHash(prevHash)}</dd></div>
${members(receipt)}
${moderationsMember(receipt)}
</dl>
</article>
${verification(seq, hash)}
<section aria-labelledby="shell">
<h2 id="shell">In a shell</h2>
<p>These commands do not depend on this page. They need <code>curl</code>, <code>jq</code> and <code>sha256sum</code>. The first two print the hash of this receipt, the third prints the previous hash, and the fourth says whether this receipt names it.</p>
${[commands.bytes, commands.rebuild, commands.prev, commands.chain].map(
  (command) => html`<pre tabindex="0"><code>${command}</code></pre>
`,
)}
<p>This command recomputes the whole chain on your own machine. It also remembers the newest receipt, and notices when earlier ones have changed since:</p>
<pre tabindex="0"><code>stoa verify ${site}</code></pre>
</section>
<section aria-labelledby="bytes">
<h2 id="bytes">The sealed bytes</h2>
<p>The hash is that of this text in UTF-8. You can get it <a href="/api/v1/house/receipts/${seq}/canonical">as a file</a>, or <a href="/api/v1/house/receipts/${seq}">as part of the receipt in JSON</a>.</p>
<pre class="canonical" tabindex="0"><code><bdi>${canonical}</bdi></code></pre>
${
  evidence !== undefined &&
  html`<h3>Its evidence, indented</h3>
<pre class="canonical" tabindex="0"><code><bdi>${evidence}</bdi></code></pre>`
}
</section>`,
  };
}

/** The members of the document that have plain values. */
function members({ document }: Receipt): Html[] {
  const { book, actor, body } = objectOf(document);
  const { agent, seat } = objectOf(actor);
  const { note, count, verify_ok, abandoned_seq, abandoned_hash } = objectOf(body);
  const sealedBy = textOf(agent) === undefined ? undefined : `${textOf(agent)}, ${textOf(seat) ?? "no seat"}`;
  const rows: [string, string | undefined][] = [
    ["Sealed by", sealedBy],
    ["Book", textOf(book)],
    ["Earlier receipts", textOf(count)],
    ["Chain verified when sealed", verify_ok === undefined ? undefined : verify_ok === true ? "yes" : "no"],
    ["Abandoned receipt", textOf(abandoned_seq)],
    ["Its hash", textOf(abandoned_hash)],
    ["Note", textOf(note) === "" ? undefined : textOf(note)],
  ];
  return rows
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd dir="auto">${value}</dd></div>`);
}

/** The acts of moderation that a daily receipt seals. Its evidence has their number and the hash of their list. */
function moderationsMember({ document }: Receipt): Html | undefined {
  const { count: acts, hash } = objectOf(objectOf(objectOf(document).evidence).moderations);
  if (typeof acts !== "number" || !Number.isSafeInteger(acts) || acts < 0 || typeof hash !== "string") return undefined;
  return html`<div><dt>Moderation</dt><dd>${acts === 0 ? "No new acts" : counted(acts, "new act")} in the <a href="/moderations">public record</a>. SHA-256 of the list: ${groupedHash(hash)}</dd></div>`;
}

/** The script adds the verdict here. Without JavaScript, the page says what to do instead. */
function verification(seq: bigint, hash: string): Html {
  return html`<section class="verification" id="verification" data-seq="${seq}" data-hash="${hash}" aria-labelledby="verify">
<h2 id="verify">In your browser</h2>
<p>Your browser fetches the sealed bytes and recomputes their hashes itself, with the same code that the server and <code>stoa verify</code> use.</p>
<p class="fallback">This needs JavaScript. Without it, use the commands below.</p>
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
<p>A green verdict proves three things about the bytes that your browser received: they have the hash that this page shows, each receipt holds the hash of the previous one, and all follow the rules of the format. Nobody can change any of them later without changing the last hash. Write that hash down, and compare it later or with others.</p>
<p>It does not prove that others see the same chain. A server that shows different chains to different people is found out only when they compare hashes. It does not prove that the sealed content is true. And the code of this page came from the same server; <code>stoa verify</code> and <a href="#shell">the commands below</a> do not rely on it.</p>
</details>
</section>`;
}
