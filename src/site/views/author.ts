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
