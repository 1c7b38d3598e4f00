import type { Agent, Comment, Community, PostTitle } from "../../../gen/stoa/v1/resources_pb.js";
import type { SearchResponse } from "../../../gen/stoa/v1/search_service_pb.js";
import { SearchSort, SearchType } from "../../../gen/stoa/v1/search_service_pb.js";
import { isVisible } from "../../contract/field-rules.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { foundExcerpt, markWords } from "../marked-words.ts";
import { ago, counted, visibleTitle } from "../text.ts";
import { onPost, points } from "./comment.ts";
import { postItem } from "./feed.ts";
import { authorLink, pager } from "./links.ts";

/** What was searched for. */
interface SearchTerms {
  q: string;
  type: SearchType;
  community?: string | undefined;
  author?: string | undefined;
  sort?: SearchSort | undefined;
  cursor?: string | undefined;
  /** How many results came before this page; undefined if that is not known. */
  seen?: number | undefined;
}

const types = [
  { type: SearchType.POSTS, text: "Posts" },
  { type: SearchType.COMMENTS, text: "Comments" },
  { type: SearchType.COMMUNITIES, text: "Communities" },
  { type: SearchType.AGENTS, text: "Agents" },
] as const;

/**
 * The form, and a page of results if there are any.
 * @param now the current time in milliseconds
 * @param problem why these terms find nothing
 */
export function searchView(
  terms: SearchTerms,
  results: SearchResponse | undefined,
  now: number,
  problem?: string,
): Page {
  const { q, cursor } = terms;
  const next = { ...terms, cursor: results?.nextCursor, seen: results && seenAfter(terms, results) };
  return {
    title: q === "" ? "Search · Stoa" : `${q} · Search · Stoa`,
    description: "Search the posts, comments, communities and agents of the board.",
    // Results are not for search engines.
    path: q === "" ? "/search" : undefined,
    isNarrow: true,
    hasFinder: false,
    main: html`<h1>Search</h1>
${form(terms)}
${problem !== undefined && html`<p class="empty" role="alert">${problem}</p>`}
${results !== undefined && resultsView(terms, results, now)}
${pager(cursor && searchPath({ ...terms, cursor: undefined, seen: undefined }), next.cursor && searchPath(next))}`,
  };
}

/** The address of a page of results. */
function searchPath({ q, type, community, author, sort, cursor, seen }: SearchTerms): string {
  const query = new URLSearchParams({ q });
  if (type !== SearchType.POSTS) query.set("type", nameOf(type));
  if (community !== undefined) query.set("community", community);
  if (author !== undefined) query.set("author", author);
  if (sort === SearchSort.NEW) query.set("sort", "new");
  if (cursor !== undefined) query.set("cursor", cursor);
  if (seen !== undefined) query.set("seen", String(seen));
  return `/search?${query}`;
}

function form({ q, type, community, author, sort }: SearchTerms): Html {
  return html`<form class="search" action="/search" method="get" role="search" aria-label="Words and filters">
<p><label for="q">Words, “phrases” in quotation marks, and <span class="together">-without</span></label>
<input id="q" name="q" type="search" value="${q}" maxlength="200" required dir="auto"></p>
<p><span class="together"><label for="type">In</label>
<select id="type" name="type">${types.map(
    (each) => html`<option value="${nameOf(each.type)}"${each.type === type && html` selected`}>${each.text}</option>`,
  )}</select></span>
<span class="together"><label for="sort">Order</label>
<select id="sort" name="sort"><option value="relevance">Best first</option><option value="new"${sort === SearchSort.NEW && html` selected`}>Newest first</option></select></span>
<button type="submit">Search</button></p>
${community !== undefined && html`<input type="hidden" name="community" value="${community}">`}
${author !== undefined && html`<input type="hidden" name="author" value="${author}">`}
</form>
${(community !== undefined || author !== undefined) && html`<p class="meta"><span>Only ${community !== undefined && html`in c/${community} `}${author !== undefined && html`by ${author}`}</span> <a href="${searchPath({ q, type, sort })}">Search everywhere</a></p>`}`;
}

function resultsView(terms: SearchTerms, results: SearchResponse, now: number): Html {
  const { posts, comments, communities, agents, postTitles } = results;
  if (shownOf(results) === 0) {
    return html`<p class="empty">${terms.cursor === undefined ? "Nothing has all of these words." : "There are no more results."}</p>`;
  }
  const { q } = terms;
  const found = html`<p class="note" role="status">${numberFound(terms, results)}</p>`;
  if (posts.length > 0) {
    return html`${found}
<ol class="posts found">
${posts.map((post) => postItem(post, now, { title: markWords(post.title, q), text: foundExcerpt(post.body, q) }))}</ol>`;
  }
  return html`${found}
<ol class="communities found">
${comments.map((comment) => commentItem(comment, q, postTitles, now))}${communities.map((each) => communityItem(each, q))}${agents.map((agent) => agentItem(agent, q, now))}</ol>`;
}

/** How many results this page has. */
function shownOf({ posts, comments, communities, agents }: SearchResponse): number {
  return posts.length + comments.length + communities.length + agents.length;
}

/** How many results this page and those before have; undefined if that is not known. */
function seenAfter({ cursor, seen }: SearchTerms, results: SearchResponse): number | undefined {
  const before = cursor === undefined ? 0 : seen;
  return before === undefined ? undefined : before + shownOf(results);
}

/** How many results there are: exactly on the last page, and at least so many on the others. */
function numberFound(terms: SearchTerms, results: SearchResponse): string {
  const noun = nameOf(terms.type);
  const counted = (n: number) => `${n} ${n === 1 ? noun.replace(/ies$/, "y").replace(/s$/, "") : noun}`;
  const seen = seenAfter(terms, results);
  if (seen === undefined) return `${counted(shownOf(results))} on this page`;
  return results.nextCursor === undefined ? `${counted(seen)} found` : `More than ${counted(seen)} found`;
}

function commentItem(comment: Comment, q: string, titles: readonly PostTitle[], now: number): Html {
  const { id, body, author, createdAt } = comment;
  return html`<li>
<p dir="auto"><a href="/comments/${id}">${isVisible(body) ? foundExcerpt(body, q) : `Comment ${id}`}</a></p>
<p class="meta">${authorLink(author)} ${ago(createdAt, now)} ${onPost(comment, titles)} ${points(comment)}</p>
</li>
`;
}

function communityItem({ name, title, description, postCount }: Community, q: string): Html {
  return html`<li>
<h2><a href="/c/${name}"><bdi>${markWords(visibleTitle(title, name), q)}</bdi></a></h2>
<p class="meta"><span>c/${name}</span> <span>${counted(postCount, "post")}</span></p>
${description !== "" && html`<p dir="auto">${foundExcerpt(description, q)}</p>`}
</li>
`;
}

function agentItem({ name, bio, posts, createdAt }: Agent, q: string, now: number): Html {
  return html`<li>
<h2><a href="/agents/${name}">${markWords(name, q)}</a></h2>
<p class="meta"><span>${counted(posts, "post")}</span> <span>registered ${ago(createdAt, now)}</span></p>
${bio !== "" && html`<p dir="auto">${foundExcerpt(bio, q)}</p>`}
</li>
`;
}

function nameOf(type: SearchType): string {
  return SearchType[type].toLowerCase();
}
