import Markdown, { type MarkdownIt, type Token } from "markdown-it";
import sanitize from "sanitize-html";
import { type Html, html, raw } from "./html.ts";

/*
 * Bodies are Markdown without HTML, written by anybody. markdown-it makes them HTML in which nothing of theirs is but text
 * and addresses; sanitize-html then lets pass only what is listed here, should the first err. What a body can cost is
 * bounded: a text that makes too many elements is shown as it was written.
 */

/** More elements than this no body of 10,000 characters needs. Their number bounds the time and the size of the result. */
const mostTokens = 4000;
/** A row of a table is filled up to the columns of its head, so a few characters can make very many cells. */
const mostCells = 3000;
const deepest = 20;

const plain = create();
const withTables = create();
plain.disable("table");

const allowed: sanitize.IOptions = {
  allowedTags: "p br hr em strong s code pre blockquote ul ol li a h2 h3 h4 h5 h6 div table thead tbody tr th td".split(
    " ",
  ),
  allowedAttributes: { a: ["href", "rel"], ol: ["start"], div: ["class", "tabindex"], pre: ["tabindex"] },
  allowedClasses: { div: ["table"] },
  allowedSchemes: ["http", "https", "mailto"],
  allowProtocolRelative: false,
  disallowedTagsMode: "escape",
};

function create(): MarkdownIt {
  const markdown = new Markdown({ html: false, linkify: true, maxNesting: deepest });
  // Only what is written as an address becomes a link.
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  markdown.validateLink = (address) => /^(?:https?:\/\/|mailto:|\/(?!\/))/i.test(address);
  // An address that is defined once and used a thousand times would make a body many times as long.
  markdown.disable("reference");
  const { rules } = markdown.renderer;
  rules.link_open = (tokens, index) => {
    const href = String(tokens[index]?.attrGet("href") ?? "");
    return `<a href="${markdown.utils.escapeHtml(href)}" rel="nofollow ugc noopener">`;
  };
  // Nothing is loaded from elsewhere: an image is a link to it.
  rules.image = (tokens, index) => {
    const { content = "" } = tokens[index] ?? {};
    const src = String(tokens[index]?.attrGet("src") ?? "");
    const { escapeHtml } = markdown.utils;
    const label = `image: ${escapeHtml(content || src)}`;
    return isInLink(tokens, index) ? label : `<a href="${escapeHtml(src)}" rel="nofollow ugc noopener">${label}</a>`;
  };
  // What scrolls sideways can be reached with the keyboard.
  rules.table_open = () => '<div class="table" tabindex="0"><table>';
  rules.table_close = () => "</table></div>";
  rules.code_block = (tokens, index) => codeBlock(markdown, tokens[index]?.content ?? "");
  rules.fence = (tokens, index) => codeBlock(markdown, tokens[index]?.content ?? "");
  return markdown;
}

function codeBlock({ utils }: MarkdownIt, content: string): string {
  return `<pre tabindex="0"><code>${utils.escapeHtml(content)}</code></pre>\n`;
}

function isInLink(tokens: Token[], index: number): boolean {
  let depth = 0;
  for (let i = 0; i < index; i++) {
    if (tokens[i]?.type === "link_open") depth++;
    else if (tokens[i]?.type === "link_close") depth--;
  }
  return depth > 0;
}

/**
 * A body as HTML. Its headings begin at `heading` and leave no level out, so that they fit into the outline of the page.
 */
export function renderMarkdown(body: string, heading: number): Html {
  const markdown = mayHoldTables(body) ? withTables : plain;
  const tokens = markdown.parse(body, {});
  let many = tokens.length;
  for (const { children } of tokens) many += children?.length ?? 0;
  if (many > mostTokens) return html`<p class="as-written">${body}</p>`;
  fitHeadings(tokens, heading);
  return raw(sanitize(markdown.renderer.render(tokens, markdown.options, {}), allowed));
}

function mayHoldTables(body: string): boolean {
  if (!body.includes("|") || !body.includes("-")) return false;
  let lines = 0;
  let columns = 0;
  for (const line of body.split("\n")) {
    lines++;
    columns = Math.max(columns, line.split("|").length);
  }
  return lines * columns <= mostCells;
}

function fitHeadings(tokens: Token[], heading: number): void {
  let previous = heading - 1;
  let tag = "";
  for (const token of tokens) {
    if (token.type === "heading_open") {
      const level = Math.min(Number(token.tag.slice(1)) + heading - 1, previous + 1, 6);
      previous = level;
      tag = `h${level}`;
      token.tag = tag;
    } else if (token.type === "heading_close") token.tag = tag;
  }
}

/** Renders each body once while it is in use: bodies never change. */
export class MarkdownCache {
  readonly #mostKept: number;
  readonly #kept = new Map<string, Html>();
  #length = 0;

  /** @param mostKept how many characters are kept, of bodies and HTML */
  constructor(mostKept = 8 * 1024 * 1024) {
    this.#mostKept = mostKept;
  }

  render(body: string, heading: number): Html {
    const key = `${heading}${body}`;
    const known = this.#kept.get(key);
    if (known !== undefined) {
      // The last ones of the map are those used last.
      this.#kept.delete(key);
      this.#kept.set(key, known);
      return known;
    }
    const rendered = renderMarkdown(body, heading);
    this.#kept.set(key, rendered);
    this.#length += key.length + rendered.length;
    for (const [oldest, value] of this.#kept) {
      if (this.#length <= this.#mostKept) break;
      this.#kept.delete(oldest);
      this.#length -= oldest.length + value.length;
    }
    return rendered;
  }
}
