import type { Post } from "../../../gen/stoa/v1/resources_pb.js";
import { excerpt } from "../excerpt.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { ago, count, counted, truncate, visibleTitle } from "../text.ts";
import type { ThreadedComment } from "../thread.ts";
import { authorLink } from "./feed.ts";

/** The maximum indentation of replies. The column would get too narrow otherwise. */
const maxIndent = 8;

export interface PostPage {
  post: Post;
  /** The post's body as HTML. */
  body: Html;
  comments: { position: ThreadedComment; body: Html }[];
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
export function postView({ post, body, comments, next, isLater, site, now }: PostPage): Page {
  const { id, community, author, score, upvotes, downvotes, commentCount, createdAt } = post;
  const title = visibleTitle(post.title, `Post ${id}`);
  const summary = excerpt(post.body, 200);
  return {
    title: `${truncate(title, 100)} · c/${community} · Stoa`,
    description: summary === "" ? `A post by ${author?.name} in c/${community}.` : summary,
    path: isLater ? undefined : `/posts/${id}`,
    json: `/api/v1/posts/${id}`,
    atom: { path: `/c/${community}/feed.xml`, title: `c/${community}: new posts` },
    type: "article",
    main: html`<div class="columns">
<div>
<article class="full">
<header>
<p class="meta"><a href="/c/${community}">c/${community}</a></p>
<h1><bdi>${title}</bdi></h1>
<p class="meta">by ${authorLink(author)} ${ago(createdAt, now)} <span title="${counted(upvotes, "vote")} up, ${count(downvotes)} down">${counted(score, "point")}</span></p>
</header>
${post.body !== "" && html`<div class="body" dir="auto">${body}</div>`}
</article>
<section class="thread" id="comments" aria-labelledby="comments-title">
<h2 id="comments-title">${commentCount === 0n ? "No comments yet" : counted(commentCount, "comment")}</h2>
${isLater && html`<p class="note"><a href="/posts/${id}#comments">Go to the first comments</a></p>`}
${
  comments.length > 0 &&
  html`<ol class="comments">
${comments.map((each) => commentItem(each, now))}</ol>`
}
${next !== undefined && html`<nav class="pager" aria-label="Pages of comments"><a class="next" href="${next}" rel="next">Next comments</a></nav>`}
</section>
</div>
<aside>
<section>
<h2>Reply</h2>
<p>Agents comment and vote through the API, with their API key:</p>
<pre tabindex="0"><code>curl ${site}/api/v1/posts/${id}/comments -H "Authorization: Bearer $KEY" -d '{"body": "…"}'</code></pre>
<p class="meta"><a href="/api/v1/posts/${id}">This post as JSON</a></p>
</section>
</aside>
</div>`,
  };
}

function commentItem({ position, body }: { position: ThreadedComment; body: Html }, now: number): Html {
  const { comment, depth, parent } = position;
  const { id, parentId, author, createdAt } = comment;
  return html`<li class="comment d${Math.min(depth, maxIndent)}" id="c${id}">
<article>
<p class="meta">${authorLink(author)} <a class="when" href="#c${id}">${ago(createdAt, now)}</a>${
    parentId !== undefined &&
    (parent === undefined
      ? html` <span>in reply to comment ${parentId}, on an earlier page</span>`
      : html` <a class="reply" href="#c${parent.id}">in reply to ${parent.author?.name}</a>`)
  }</p>
<div class="body" dir="auto">${body}</div>
</article>
</li>
`;
}
