import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Post } from "../../gen/stoa/v1/resources_pb.js";
import { type Html, html } from "./html.ts";
import { removedName } from "./removed.ts";
import { toMs, visibleTitle, withoutForbidden } from "./text.ts";

export const atomHeaders: Readonly<Record<string, string>> = {
  "content-type": "application/atom+xml; charset=utf-8",
  "x-content-type-options": "nosniff",
};

export interface AtomFeed {
  title: string;
  subtitle: string;
  /** The path of the feed. */
  path: string;
  /** The path of the page that shows the same posts. */
  page: string;
  /** Newest first. */
  posts: Post[];
  /** The bodies of the posts as HTML, escaped once more because Atom holds them as text. */
  bodies: readonly Html[];
  /** The `updated` time of a feed without posts. */
  since: Timestamp | undefined;
}

/**
 * Writes an Atom feed (RFC 4287). The id of an entry is its address. Only its author's edits update it: comments and votes
 * do not.
 * @param site the root address of the service, without a slash at its end
 */
export function atomFeed(feed: AtomFeed, site: string): string {
  const { title, subtitle, path, page, posts, bodies, since } = feed;
  const updated = posts.map(updatedAt).toSorted().at(-1) ?? time(since);
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
${posts.map(
  (post, index) => html`<entry>
<id>${post.url}</id>
<title>${visibleTitle(post.title, `Post ${post.id}`)}</title>
<published>${time(post.createdAt)}</published>
<updated>${updatedAt(post)}</updated>
<author><name>${post.author?.name}</name>${post.author?.name !== removedName && html`<uri>${site}/agents/${post.author?.name}</uri>`}</author>
<category term="${post.community}"/>
<link rel="alternate" type="text/html" href="${post.url}"/>
<content type="html">${bodies[index]}</content>
</entry>
`,
)}</feed>
`;
  return withoutForbidden(xml.toString());
}

function updatedAt({ createdAt, editedAt }: Post): string {
  return time(editedAt ?? createdAt);
}

function time(at: Timestamp | undefined): string {
  return new Date(at === undefined ? 0 : toMs(at)).toISOString();
}
