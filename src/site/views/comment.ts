import { ModerationItem, ModerationRole, type Removal } from "../../../gen/stoa/v1/moderation_pb.js";
import type { Comment, Post, PostTitle } from "../../../gen/stoa/v1/resources_pb.js";
import { excerpt } from "../../markdown/excerpt.ts";
import { truncate } from "../../markdown/truncate.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { ago, count, counted, visibleTitle } from "../text.ts";
import type { ThreadedComment } from "../thread.ts";
import { authorLink } from "./links.ts";
import { removalText } from "./moderation-texts.ts";
import { recordPath } from "./moderations.ts";

/** How deep lists of replies are nested. Deeper replies share the list of this level: the column would get too narrow. */
const maxLevel = 8;

/** A comment in a thread, and its body as HTML. */
export interface ShownComment {
  position: ThreadedComment;
  body: Html;
  /** Where the log has the comment; undefined without a log. */
  log: string | undefined;
}

/** What the page of a comment shows. */
export interface CommentPage {
  comment: Comment;
  post: Post;
  /** The comment that it replies to. */
  parent: Comment | undefined;
  /** The bodies of the comment and of its parent as HTML. */
  body: Html;
  parentBody: Html;
  /** The first direct replies. */
  replies: ShownComment[];
  /** Whether there are more of them. */
  hasMore: boolean;
  /** The address of the comment in the thread. */
  thread: string;
  /** Where the log has the comment; undefined without a log. */
  log: string | undefined;
  /** The current time in milliseconds. */
  now: number;
}

/** The page of one comment: its post, what it replies to, and the way into the thread. */
export function commentView({
  comment,
  post,
  parent,
  body,
  parentBody,
  replies,
  hasMore,
  thread,
  log,
  now,
}: CommentPage): Page {
  const { id, author, createdAt, removed } = comment;
  const title = visibleTitle(post.title, `Post ${post.id}`);
  return {
    title: `Comment ${id} on ${truncate(title, 100)} · Stoa`,
    description: removed === undefined ? excerpt(comment.body, 200) : removalText(removed, "comment"),
    // Search engines need not keep what is removed.
    path: removed !== undefined || post.removed !== undefined ? undefined : `/comments/${id}`,
    json: `/api/v1/comments/${id}`,
    type: "article",
    main: html`<article class="full single">
<header>
<p class="meta"><a href="/c/${post.community}">c/${post.community}</a></p>
<h1>Comment on <a href="/posts/${post.id}"><bdi>${title}</bdi></a></h1>
</header>
${
  parent !== undefined &&
  html`<blockquote class="parent">
<p class="meta">${authorLink(parent.author)} <a class="when" href="/comments/${parent.id}">${ago(parent.createdAt, now)}</a> ${points(parent)}</p>
${commentBody(parent, parentBody, now)}
</blockquote>`
}
<p class="meta">by ${authorLink(author)} ${ago(createdAt, now)} ${points(comment)} ${edited(comment, now)}</p>
${commentBody(comment, body, now)}
<p class="meta"><a href="${thread}">In the thread</a> <a href="/posts/${post.id}#comments">All comments</a> <a href="/api/v1/comments/${id}">This comment as JSON</a>${log !== undefined && html` <a href="${log}">In the log</a>`}</p>
</article>
${
  replies.length > 0 &&
  html`<section class="thread" aria-labelledby="replies">
<h2 id="replies">Replies</h2>
${commentList(replies, now)}
${hasMore && html`<p class="note"><a href="${thread}">More replies in the thread</a></p>`}
</section>`
}`,
  };
}

/** When something was edited, if it was; a space follows. */
export function edited({ editedAt, removed }: Post | Comment, now: number): Html {
  return editedAt === undefined || removed !== undefined ? html`` : html`<span>edited ${ago(editedAt, now)}</span> `;
}

/** When something was removed, and the acts about it. The record has none of what authors remove themselves. */
export function removalMeta({ by, at }: Removal, item: ModerationItem, itemId: bigint, now: number): Html {
  return html`<p class="meta"><span>removed ${ago(at, now)}</span>${
    by !== ModerationRole.AUTHOR && html` <a href="${recordPath({ item, itemId })}">In the record of moderation</a>`
  }</p>`;
}

/** Comments in reading order as a list. Below a comment, its replies are a list that readers can fold. */
export function commentList(comments: readonly ShownComment[], now: number, level = 0): Html {
  const items: Html[] = [];
  let at = 0;
  while (at < comments.length) {
    let end = at + 1;
    if (level < maxLevel) while ((comments[end]?.position.depth ?? 0) > level) end++;
    items.push(commentItem(comments[at] as ShownComment, comments.slice(at + 1, end), now, level));
    at = end;
  }
  return html`<ol class="comments">
${items}</ol>`;
}

/** A comment and what was replied below it. A removed comment keeps its place. */
function commentItem(
  { position, body, log }: ShownComment,
  below: readonly ShownComment[],
  now: number,
  level: number,
): Html {
  const { comment } = position;
  const { id, author, createdAt } = comment;
  return html`<li class="comment d${level}" id="c${id}">
<article>
<p class="meta">${authorLink(author)} <a class="when" href="/comments/${id}">${ago(createdAt, now)}</a> ${points(comment)} ${edited(comment, now)}${replyLink(position)}${log !== undefined && html` <a class="logged" href="${log}" title="The proof that this comment is in the log">log</a>`}</p>
${commentBody(comment, body, now)}
</article>
${
  below.length > 0 &&
  html`<details class="replies" open>
<summary>${below.length === 1 ? "1 reply" : `${below.length} replies`}</summary>
${commentList(below, now, level + 1)}
</details>`
}
</li>
`;
}

/** The score of a post or comment, with its votes as a tooltip. */
export function points({ score, upvotes, downvotes }: Post | Comment): Html {
  return html`<span title="${counted(upvotes, "vote")} up, ${count(downvotes)} down">${counted(score, "point")}</span>`;
}

/** On which post a comment is, by its title unless that is removed. */
export function onPost({ postId }: Comment, titles: readonly PostTitle[]): Html {
  const title = titles.find(({ id }) => id === postId)?.title ?? "";
  return html`<span>on <a href="/posts/${postId}"><bdi>${visibleTitle(title, `post ${postId}`)}</bdi></a></span>`;
}

/** The text of a comment, or why there is none. */
function commentBody({ id, removed }: Comment, body: Html, now: number): Html {
  return removed === undefined
    ? html`<div class="body" dir="auto">${body}</div>`
    : html`<div class="removal">
<p>${removalText(removed, "comment")}</p>
${removalMeta(removed, ModerationItem.COMMENT, id, now)}
</div>`;
}

/** What a comment replies to, if it is a reply. */
function replyLink({ comment: { parentId }, parent, isOnPageOfParent }: ThreadedComment): Html {
  if (parentId === undefined || isOnPageOfParent === true) return html``;
  if (parent === undefined)
    return html`<a class="reply" href="/comments/${parentId}">in reply to comment ${parentId}</a>`;
  const target = parent.removed === undefined ? parent.author?.name : "a removed comment";
  return html`<a class="reply" href="#c${parent.id}">in reply to ${target}</a>`;
}
