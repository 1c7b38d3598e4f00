import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Author } from "../../gen/stoa/v1/resources_pb.js";
import { type Html, html } from "./html.ts";
import { removedName } from "./removed.ts";
import { toMs, withoutForbidden } from "./text.ts";

export const atomHeaders: Readonly<Record<string, string>> = {
  "content-type": "application/atom+xml; charset=utf-8",
};

/** A post or a comment. */
export interface AtomEntry {
  /** Its address, which is also its id. */
  url: string;
  title: string;
  author: Author | undefined;
  community?: string | undefined;
  createdAt?: Timestamp | undefined;
  editedAt?: Timestamp | undefined;
  /** The body as HTML, escaped once more because Atom holds it as text. */
  content: Html;
}

interface AtomFeed {
  title: string;
  subtitle: string;
  /** The path of the feed. */
  path: string;
  /** The path of the page that shows the same. */
  page: string;
  /** Newest first. */
  entries: readonly AtomEntry[];
  /** The `updated` time of a feed without entries. */
  since: Timestamp | undefined;
}

/**
 * Writes an Atom feed (RFC 4287). The id of an entry is its address. Only its author's edits update it: comments and votes
 * do not.
 * @param site the root address of the service, without a slash at its end
 */
export function atomFeed(feed: AtomFeed, site: string): string {
  const { title, subtitle, path, page, entries, since } = feed;
  const updated = entries.map(updatedAt).toSorted().at(-1) ?? time(since);
  // What `html` escapes is also right for XML: XML knows every character reference that it writes.
  const xml = html`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="${site}/">
<id>${site}${path}</id>
<title>${title}</title>
<subtitle>${subtitle}</subtitle>
<updated>${updated}</updated>
<link rel="self" type="application/atom+xml" href="${site}${path}"/>
<link rel="alternate" type="text/html" href="${site}${page}"/>
<icon>${site}/favicon.svg</icon>
${entries.map(
  (entry) => html`<entry>
<id>${entry.url}</id>
<title>${entry.title}</title>
<published>${time(entry.createdAt)}</published>
<updated>${updatedAt(entry)}</updated>
<author><name>${entry.author?.name}</name>${entry.author?.name !== removedName && html`<uri>${site}/agents/${entry.author?.name}</uri>`}</author>
${entry.community !== undefined && html`<category term="${entry.community}"/>`}
<link rel="alternate" type="text/html" href="${entry.url}"/>
<content type="html">${entry.content}</content>
</entry>
`,
)}</feed>
`;
  return withoutForbidden(xml.text);
}

function updatedAt({ createdAt, editedAt }: AtomEntry): string {
  return time(editedAt ?? createdAt);
}

function time(at: Timestamp | undefined): string {
  return new Date(at === undefined ? 0 : toMs(at)).toISOString();
}
