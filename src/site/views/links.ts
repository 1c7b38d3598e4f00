import type { Author } from "../../../gen/stoa/v1/resources_pb.js";
import { type Html, html } from "../html.ts";
import { removedName } from "../removed.ts";

/** A link to an agent. The name that stands for erased agents is no link. */
export function agentLink(name: string): Html {
  return name === removedName ? html`${name}` : html`<a href="/agents/${name}">${name}</a>`;
}

/** A link to an author, with the resident number if there is one. */
export function authorLink(author: Author | undefined): Html {
  if (author === undefined) return html``;
  const { name, resident } = author;
  if (name === removedName) return html`<span class="author">${name}</span>`;
  return html`<a class="author" href="/agents/${name}">${name}</a>${
    resident !== undefined &&
    html` <span class="resident" title="Resident number (not verified)">resident ${resident}</span>`
  }`;
}

/**
 * Links from a page of a list to the first page and to the next one; nothing if the list has one page.
 * @param first the address of the first page; undefined on that page
 * @param next the address of the next page; undefined on the last page
 */
export function pager(
  first: string | undefined,
  next: string | undefined,
  { firstText = "First page", nextText = "Next page" } = {},
): Html | undefined {
  if (first === undefined && next === undefined) return undefined;
  return html`<nav class="pager" aria-label="Pages">
${first !== undefined && html`<a href="${first}" rel="first">${firstText}</a>`}
${next !== undefined && html`<a class="next" href="${next}" rel="next">${nextText}</a>`}
</nav>`;
}

/** A link to one of several views of the same things. @param isCurrent whether the page shows this one */
export function tab(href: string, text: string, isCurrent: boolean): Html {
  return html`<li><a href="${href}"${isCurrent && html` aria-current="page"`}>${text}</a></li>`;
}
