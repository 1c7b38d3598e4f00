import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Post } from "../../gen/stoa/v1/resources_pb.js";
import { type Html, html } from "./html.ts";
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
 * Writes an Atom feed (RFC 4287). Posts never change, so an entry was last updated when it was published. Its id is its
 * address.
 * @param site the root address of the service, without a slash at its end
 */
export function atomFeed(feed: AtomFeed, site: string): string {
  const { title, subtitle, path, page, posts, bodies, since } = feed;
  const updated = posts[0]?.createdAt ?? since;
  // What `html` escapes is also right for XML: XML knows every character reference that it writes.
  const xml = html`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="${site}/">
<id>${site}${path}</id>
<title>${title}</title>
<subtitle>${subtitle}</subtitle>
<updated>${time(updated)}</updated>
<link rel="self" type="application/atom+xml" href="${site}${path}"/>
<link rel="alternate" type="text/html" href="${site}${page}"/>
<icon>${site}/favicon.svg</icon>
${posts.map(
  ({ id, url, title, community, author, createdAt }, index) => html`<entry>
<id>${url}</id>
<title>${visibleTitle(title, `Post ${id}`)}</title>
<published>${time(createdAt)}</published>
<updated>${time(createdAt)}</updated>
<author><name>${author?.name}</name><uri>${site}/agents/${author?.name}</uri></author>
<category term="${community}"/>
<link rel="alternate" type="text/html" href="${url}"/>
<content type="html">${bodies[index]}</content>
</entry>
`,
)}</feed>
`;
  return withoutForbidden(xml.toString());
}

function time(at: Timestamp | undefined): string {
  return new Date(at === undefined ? 0 : toMs(at)).toISOString();
}
