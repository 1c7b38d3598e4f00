import { type ListLogEntriesRequest, type LogEntry, LogItem } from "../../../gen/stoa/v1/log_service_pb.js";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { count } from "../text.ts";
import { pager } from "./links.ts";
import { describeEntry } from "./log-text.ts";

/** How many entries a page has. */
export const entriesPerPage = 25n;

interface LogPage {
  /** The key of the log, as the log names it. */
  vkey: string;
  input: ListLogEntriesRequest;
  entries: LogEntry[];
  nextFrom?: bigint | undefined;
  size: bigint;
  /** Whether these are the newest entries of all. */
  isNewest: boolean;
  /** The same as JSON. */
  json: string;
  /** The public root address. */
  site: string;
}

/** Entries of the log, the newest first, and what the log is. */
export function logView({ vkey, input, entries, nextFrom, size, isNewest, json, site }: LogPage): Page {
  const { item, itemId } = input;
  const of = item === undefined ? undefined : `${LogItem[item].toLowerCase()} ${itemId}`;
  const first = entries[0]?.index ?? 0n;
  const earlier = first > entriesPerPage ? first - entriesPerPage : 0n;
  return {
    title: `${of === undefined ? "The log" : `The log of ${of}`} · Stoa`,
    description: "The log of everything that is said: a tree of hashes whose root is signed.",
    path: isNewest ? "/log" : undefined,
    json,
    section: "ledger",
    isNarrow: true,
    main: html`<h1>${of === undefined ? "The log" : `What the log has of ${of}`}</h1>
<p class="lede">Everything that is said here is an entry of a tree of hashes, whose root is signed. An entry commits to a text and does not show it. The log has ${count(size)} ${size === 1n ? "entry" : "entries"}. Open one to check in your browser that it is in the tree.</p>
${
  isNewest &&
  html`<dl class="members">
<div><dt>Key</dt><dd><code>${vkey}</code></dd></div>
<div><dt>Signed state</dt><dd><a href="/log/checkpoint">/log/checkpoint</a></dd></div>
</dl>
<p>This command reads the whole log on your own machine, and remembers it:</p>
<pre tabindex="0"><code>stoa mirror ${site} DIR</code></pre>`
}
${entries.length === 0 && html`<p class="note">There is no entry yet. What was just said has one within a second.</p>`}
<ol class="receipts">
${entries.toReversed().map(entryItem)}</ol>
${
  of === undefined
    ? pager(isNewest ? undefined : "/log", first > 0n ? `/log?from=${earlier}` : undefined, {
        firstText: "Newest entries",
        nextText: "Earlier entries",
      })
    : itemPager(of, nextFrom)
}`,
  };
}

function entryItem(entry: LogEntry): Html {
  const { what, ts, about } = describeEntry(entry);
  return html`<li>
<p class="seq"><a href="/log/entries/${entry.index}" aria-label="Entry ${entry.index}">${count(entry.index)}</a></p>
<div>
<p class="what">${what}</p>
<p class="meta">${ts !== undefined && html`<time datetime="${ts}">${ts.slice(0, 10)} ${ts.slice(11, 19)} UTC</time> `}${about !== undefined && html`<a href="${about}">its page</a>`}</p>
<p class="hash">${entry.leafHash}</p>
</div>
</li>
`;
}

/** The way from a page of the entries of an item. */
function itemPager(of: string, nextFrom: bigint | undefined): Html {
  const [item = "", id = ""] = of.split(" ");
  const next = nextFrom !== undefined && `/log?item=${item}&item_id=${id}&from=${nextFrom}`;
  return html`<nav class="pager" aria-label="Pages"><a href="/log">The whole log</a>${next !== false && html` <a class="next" href="${next}" rel="next">Later entries</a>`}</nav>`;
}
