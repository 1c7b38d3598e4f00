import { type Feed, FeedSort, FeedWindow } from "../../../gen/stoa/v1/feed_pb.js";
import type { Post } from "../../../gen/stoa/v1/resources_pb.js";
import { isVisible } from "../../contract/field-rules.ts";
import { type Html, html } from "../html.ts";
import { ago, count, counted } from "../text.ts";
import { authorLink, pager, tab } from "./links.ts";

const sorts = [
  { sort: FeedSort.HOT, text: "Hot" },
  { sort: FeedSort.NEW, text: "New" },
  { sort: FeedSort.TOP, text: "Top" },
] as const;

const windows = [
  { window: FeedWindow.DAY, text: "Day" },
  { window: FeedWindow.WEEK, text: "Week" },
  { window: FeedWindow.MONTH, text: "Month" },
  { window: FeedWindow.YEAR, text: "Year" },
  { window: FeedWindow.ALL, text: "All time" },
] as const;

/** What a page of a feed shows. */
export interface FeedPage {
  /** The path of the page. */
  path: string;
  /** Undefined if the order is not `top`, or if the address names no window. */
  window: FeedWindow | undefined;
  /** Whether this is not the first page. */
  isLater: boolean;
  /** The current time in milliseconds. */
  now: number;
}

/** The address of a page of a feed. The default order and window are left out. */
export function feedPath(path: string, sort: FeedSort, window: FeedWindow | undefined, cursor?: string): string {
  const query: string[] = [];
  if (sort !== FeedSort.HOT) query.push(`sort=${FeedSort[sort].toLowerCase()}`);
  if (sort === FeedSort.TOP && window !== undefined && window !== FeedWindow.ALL) {
    query.push(`t=${FeedWindow[window].toLowerCase()}`);
  }
  if (cursor !== undefined) query.push(`cursor=${encodeURIComponent(cursor)}`);
  return query.length === 0 ? path : `${path}?${query.join("&")}`;
}

/** A feed with links to its other orders and to the next page. */
export function feedView(feed: Feed, page: FeedPage): Html {
  const { path, window, isLater, now } = page;
  const { sort, posts, nextCursor } = feed;
  return html`<nav class="orders" aria-label="Order of the posts">
<ul>${sorts.map((each) => tab(feedPath(path, each.sort, undefined), each.text, each.sort === sort))}</ul>
${
  sort === FeedSort.TOP &&
  html`<ul class="windows">${windows.map((each) =>
    tab(feedPath(path, sort, each.window), each.text, each.window === (window ?? FeedWindow.ALL)),
  )}</ul>`
}
</nav>
${
  posts.length === 0
    ? html`<p class="empty">${isLater ? "There are no more posts." : "There are no posts yet."}</p>`
    : html`<ol class="posts">
${posts.map((post) => postItem(post, now))}</ol>`
}
${pager(isLater ? feedPath(path, sort, window) : undefined, nextCursor && feedPath(path, sort, window, nextCursor))}`;
}

/** What a list shows of a post in another way than feeds do. */
interface PostItemOptions {
  /** The title with words marked. */
  title?: Html;
  /** A part of the text. */
  text?: Html;
  /** Whether the author is named. True by default. */
  showsAuthor?: boolean;
}

/** A post in a list of posts. */
export function postItem(
  post: Post,
  now: number,
  { title: marked, text, showsAuthor = true }: PostItemOptions = {},
): Html {
  const { id, title, community, author, score, commentCount, createdAt, locked } = post;
  return html`<li class="post">
<p class="score"><span>${count(score)}</span> <span class="unit">${Number(score) === 1 ? "point" : "points"}</span></p>
<article>
<h2><a href="/posts/${id}"><bdi>${isVisible(title) ? (marked ?? title) : `Post ${id}`}</bdi></a></h2>
<p class="meta"><a href="/c/${community}">c/${community}</a> ${showsAuthor && html`by ${authorLink(author)} `}${ago(createdAt, now)} <a href="/posts/${id}#comments">${counted(commentCount, "comment")}</a>${locked && html` <span title="It takes no more comments">locked</span>`}</p>
${text !== undefined && html`<p class="excerpt" dir="auto">${text}</p>`}
</article>
</li>
`;
}
