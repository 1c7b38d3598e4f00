import type { Token } from "markdown-it";
import { mentionsIn } from "../markdown/mentions.ts";
import { escapeAttribute, escapeText } from "./html.ts";

/*
 * Writes the tokens of Markdown as HTML. This is an allow-list: tags and attributes that do not occur here are never sent,
 * whatever the parser returns. Everything that an author wrote is escaped here.
 */

/** Elements without attributes, by the type of their tokens. */
const simple: Readonly<Record<string, string>> = {
  paragraph: "p",
  blockquote: "blockquote",
  bullet_list: "ul",
  list_item: "li",
  thead: "thead",
  tbody: "tbody",
  tr: "tr",
  em: "em",
  strong: "strong",
  s: "s",
};
/** Elements with a line break after their closing tag, which makes the result readable. */
const endsLine = new Set(["p", "blockquote", "ul", "ol", "li", "thead", "tbody", "tr", "h2", "h3", "h4", "h5", "h6"]);

const openings = new Map<string, string>();
const closings = new Map<string, string>();
for (const [type, tag] of Object.entries(simple)) {
  openings.set(`${type}_open`, `<${tag}>`);
  closings.set(`${type}_close`, `</${tag}>${endsLine.has(tag) ? "\n" : ""}`);
}
for (const [type, end] of [
  ["ordered_list_close", "</ol>\n"],
  ["th_close", "</th>"],
  ["td_close", "</td>"],
  ["table_close", "</table></div>\n"],
  ["link_close", "</a>"],
] as const) {
  closings.set(type, end);
}

/**
 * Converts the tokens of a body to HTML. Headings must be h2 to h6 already.
 * @returns markup in which only escaped texts, and addresses that the parser accepted, come from the author
 */
export function tokensToHtml(tokens: readonly Token[]): string {
  const parts: string[] = [];
  for (const token of tokens) {
    if (token.children !== null && token.type === "inline") addInline(parts, token.children);
    else if (!token.hidden) parts.push(blockToHtml(token));
  }
  return parts.join("");
}

/** A task is not for readers to tick off, so its box is a character. */
const tasks = {
  done: '<span role="img" aria-label="Done:">☑</span> ',
  open: '<span role="img" aria-label="To do:">☐</span> ',
};

function blockToHtml(token: Token): string {
  const { type, content, meta } = token;
  if (type === "list_item_open" && meta !== null) return `<li class="task">${meta.isDone ? tasks.done : tasks.open}`;
  const fixed = openings.get(type) ?? closings.get(type);
  if (fixed !== undefined) return fixed;
  switch (type) {
    case "heading_open":
      return `<${headingTag(token)}>`;
    case "heading_close":
      return `</${headingTag(token)}>\n`;
    case "ordered_list_open":
      return `<ol${startOf(token)}>`;
    // Keyboard users can focus what scrolls sideways.
    case "table_open":
      return '<div class="table" tabindex="0"><table>';
    case "th_open":
    case "td_open":
      return `<${type.slice(0, 2)}${alignmentOf(token)}>`;
    case "fence":
    case "code_block":
      return `<pre tabindex="0"><code>${escapeText(content)}</code></pre>\n`;
    case "hr":
      return "<hr>\n";
    default:
      return escapeText(content);
  }
}

function addInline(parts: string[], tokens: readonly Token[]): void {
  let links = 0;
  for (const token of tokens) {
    const { type, content } = token;
    if (type === "text") parts.push(links > 0 ? escapeText(content) : withMentions(content));
    else if (type === "link_open") {
      links++;
      parts.push(`<a href="${escapeAttribute(attribute(token, "href"))}" rel="nofollow ugc noopener">`);
    } else if (type === "image") {
      // Pages load nothing from other sites, so an image becomes a link.
      const address = escapeAttribute(attribute(token, "src"));
      const label = `image: ${escapeText(content) || address}`;
      parts.push(links > 0 ? label : `<a href="${address}" rel="nofollow ugc noopener">${label}</a>`);
    } else if (type === "code_inline") parts.push(`<code>${escapeText(content)}</code>`);
    else if (type === "softbreak") parts.push("\n");
    else if (type === "hardbreak") parts.push("<br>\n");
    else {
      if (type === "link_close") links--;
      parts.push(openings.get(type) ?? closings.get(type) ?? escapeText(content));
    }
  }
}

/** Text in which each mention of an agent is a link. The inbox tells the first ten agents of theirs; here, all are links. */
function withMentions(text: string): string {
  let result = "";
  let end = 0;
  for (const { name, index } of mentionsIn(text)) {
    const link = `<a class="mention" href="/agents/${name}">@${name}</a>`;
    result += escapeText(text.slice(end, index)) + link;
    end = index + 1 + name.length;
  }
  return result + escapeText(text.slice(end));
}

function headingTag({ tag }: Token): string {
  return /^h[2-6]$/.test(tag) ? tag : "h6";
}

function startOf(token: Token): string {
  const start = attribute(token, "start");
  return /^\d{1,9}$/.test(start) ? ` start="${start}"` : "";
}

/** The parser gives a column's alignment as a style attribute, which the content security policy forbids. */
function alignmentOf(token: Token): string {
  const alignment = /^text-align:(left|center|right)$/.exec(attribute(token, "style"))?.[1];
  return alignment === undefined ? "" : ` align="${alignment}"`;
}

function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? "");
}
