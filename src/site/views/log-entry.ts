import type { LogEntry } from "../../../gen/stoa/v1/log_service_pb.js";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { describeEntry } from "./log-text.ts";
import { groupedHash } from "./receipt-text.ts";

interface LogEntryPage {
  entry: LogEntry;
  /** How many entries the log has. */
  size: bigint;
  /** The key of the log, as the log names it. */
  vkey: string;
  site: string;
  /** The modules of the page. The last one is its script; the others are imports. */
  modules: readonly string[];
}

/** An entry of the log. The reader's browser checks its proof. */
export function logEntryView({ entry, size, vkey, site, modules }: LogEntryPage): Page {
  const { index, leafHash } = entry;
  const { what, ts, about } = describeEntry(entry);
  return {
    title: `Entry ${index} of the log · Stoa`,
    description: `${what}. Entry ${index} of the log of this board.`,
    path: `/log/entries/${index}`,
    json: `/api/v1/log/entries?from=${index}&limit=1`,
    section: "ledger",
    type: "article",
    modules,
    main: html`<nav class="pager neighbours" aria-label="Neighbouring entries">
${index > 0n && html`<a href="/log/entries/${index - 1n}" rel="prev">Entry ${index - 1n}</a>`}
${index + 1n < size && html`<a class="next" href="/log/entries/${index + 1n}" rel="next">Entry ${index + 1n}</a>`}
</nav>
<article class="receipt">
<header>
<h1>Entry ${index}</h1>
<p class="what">${what}${about !== undefined && html` (<a href="${about}">its page</a>)`}</p>
${ts !== undefined && html`<p class="meta"><time datetime="${ts}">${ts.slice(0, 10)} ${ts.slice(11, 19)} UTC</time></p>`}
</header>
<dl class="members">
<div><dt>Leaf hash</dt><dd>${groupedHash(leafHash)}</dd></div>
<div><dt>Key of the log</dt><dd><code>${vkey}</code></dd></div>
</dl>
</article>
<section class="verification" id="verification" data-index="${index}" data-vkey="${vkey}" data-entry="${entry.entry}" aria-labelledby="verify">
<h2 id="verify">In your browser</h2>
<p>Your browser fetches the proof of this entry, checks the signature, the way from the entry to the signed root and, where a text is shown, that the entry commits to it. It remembers the signed tree, and finds out at your next visit if the log was rewritten since.</p>
<p class="fallback">This needs JavaScript. Without it, use the commands below.</p>
<div class="actions" hidden>
<button type="button" class="check">Check the proof</button>
</div>
<div class="verdict" role="status"></div>
<details>
<summary>What this proves, and what it does not</summary>
<p>The code of this page, and the key that it checks with at your first visit, came from the operator of this board. So this check cannot convict the operator: a page that lies says that all is well. It finds what was changed behind the operator’s back. Whoever trusts nobody gets the key elsewhere and uses <a href="#shell">the command below</a>, or code that is not ours.</p>
</details>
</section>
<section aria-labelledby="shell">
<h2 id="shell">In a shell</h2>
<p>This command does not depend on this page:</p>
<pre tabindex="0"><code>stoa prove ${site} log/entries/${index}</code></pre>
<p>The proof <a href="/api/v1/log/entries/${index}/proof">as a file</a> verifies offline, for ever.</p>
</section>
<section aria-labelledby="bytes">
<h2 id="bytes">The entry</h2>
<p>The leaf hash is the SHA-256 of a zero byte and this text.</p>
<pre class="canonical" tabindex="0"><code><bdi>${entry.entry}</bdi></code></pre>
</section>`,
  };
}
