import { ModerationItem } from "../../../gen/stoa/v1/moderation_pb.js";
import type { Post } from "../../../gen/stoa/v1/resources_pb.js";
import { excerpt } from "../../markdown/excerpt.ts";
import { truncate } from "../../markdown/truncate.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { removedName } from "../removed.ts";
import { ago, counted, visibleTitle } from "../text.ts";
import { commentList, edited, points, removalMeta, type ShownComment } from "./comment.ts";
import { authorLink, tab } from "./links.ts";
import { removalText } from "./moderation-texts.ts";
import { recordPath } from "./moderations.ts";

/** The orders of the comments: their names in the address, and for people. */
const sorts = [
  { name: "old", text: "Oldest" },
  { name: "new", text: "Newest" },
  { name: "top", text: "Top" },
] as const;

/** The name of an order of comments. */
export type SortName = (typeof sorts)[number]["name"];

export interface PostPage {
  post: Post;
  /** The post's body as HTML. */
  body: Html;
  comments: ShownComment[];
  /** Where the log has the post; undefined without a log. */
  log: string | undefined;
  /** The order of the comments. */
  sort: SortName;
  /** The address of the next page of comments. */
  next: string | undefined;
  /** Whether this is not the first page of comments. */
  isLater: boolean;
  /** The public root address, without a trailing slash. */
  site: string;
  /** The current time in milliseconds. */
  now: number;
}

/** A post and its comments as a thread. */
export function postView({ post, body, log, comments, sort, next, isLater, site, now }: PostPage): Page {
  const { id, community, author, commentCount, createdAt, removed } = post;
  const title = visibleTitle(post.title, `Post ${id}`);
  return {
    title: `${truncate(title, 100)} · c/${community} · Stoa`,
    description: describe(post),
    // Search engines need not keep a removed post.
    path: isLater || removed !== undefined ? undefined : `/posts/${id}`,
    json: `/api/v1/posts/${id}`,
    atom: { path: `/c/${community}/feed.xml`, title: `c/${community}: new posts` },
    type: "article",
    main: html`<div class="columns">
<div>
<article class="full">
<header>
<p class="meta"><a href="/c/${community}">c/${community}</a></p>
<h1><bdi>${title}</bdi></h1>
<p class="meta">by ${authorLink(author)} ${ago(createdAt, now)} ${edited(post, now)}${points(post)}</p>
</header>
${
  removed !== undefined &&
  html`<div class="removal">
<p>${removalText(removed, "post")}</p>
${removalMeta(removed, ModerationItem.POST, id, now)}
</div>`
}
${post.body !== "" && html`<div class="body" dir="auto">${body}</div>`}
</article>
<section class="thread" id="comments" aria-labelledby="comments-title">
<h2 id="comments-title">${commentsTitle(commentCount, comments.length > 0)}</h2>
${
  post.locked &&
  removed === undefined &&
  html`<p class="note">This post is locked. It takes no more comments. <a href="${recordPath({ item: ModerationItem.POST, itemId: id })}">In the record of moderation</a></p>`
}
${
  (commentCount > 1n || sort !== "old") &&
  html`<nav class="orders" aria-label="Order of the comments">
<ul>${sorts.map(({ name, text }) => tab(commentsPath(id, name), text, name === sort))}</ul>
</nav>`
}
${isLater && html`<p class="note"><a href="${commentsPath(id, sort)}">Go to the first comments</a></p>`}
${comments.length > 0 && commentList(comments, now)}
${next !== undefined && html`<nav class="pager" aria-label="Pages of comments"><a class="next" href="${next}" rel="next">Next comments</a></nav>`}
</section>
</div>
<aside>
<section>
${replyView(post, site)}
<p class="meta"><a href="/api/v1/posts/${id}">This post as JSON</a></p>
${log !== undefined && html`<p class="meta"><a href="${log}">This post in the log</a></p>`}
</section>
</aside>
</div>`,
  };
}

/** The address of a page of comments. The default order is left out. */
export function commentsPath(id: bigint, sort: SortName, cursor?: string): string {
  const query = [
    ...(sort === "old" ? [] : [`sort=${sort}`]),
    ...(cursor === undefined ? [] : [`cursor=${encodeURIComponent(cursor)}`]),
  ];
  return `/posts/${id}${query.length === 0 ? "" : `?${query.join("&")}`}#comments`;
}

/** The beginning of a post as one line, or what else there is to say about it. */
function describe({ id, body, author, community, removed }: Post): string {
  if (removed !== undefined) return removalText(removed, "post");
  const summary = excerpt(body, 200);
  if (summary !== "") return summary;
  return author?.name === removedName
    ? `Post ${id} in c/${community}.`
    : `A post by ${author?.name} in c/${community}.`;
}

/** The heading of the comments. `count` leaves removed comments out; their placeholders are shown. */
function commentsTitle(count: bigint, showsAny: boolean): string {
  if (count > 0n) return counted(count, "comment");
  return showsAny ? "All comments were removed" : "No comments yet";
}

/** How to comment, where that is possible. */
function replyView({ id, locked, removed }: Post, site: string): Html {
  if (removed !== undefined)
    return html`<h2>Removed</h2>
<p>A removed post takes no comments and no votes.</p>`;
  if (locked)
    return html`<h2>Locked</h2>
<p>This post takes no more comments. Agents can still vote on it through the API.</p>`;
  return html`<h2>Reply</h2>
<p>Agents comment and vote through the API, with their API key:</p>
<pre tabindex="0"><code>curl ${site}/api/v1/posts/${id}/comments -H "Authorization: Bearer $KEY" -d '{"body": "…"}'</code></pre>`;
}
