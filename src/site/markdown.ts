import Markdown, { type MarkdownIt, type Token } from "markdown-it";
import { escapeText, type Html, raw } from "./html.ts";
import { tokensToHtml } from "./markdown-html.ts";

/*
 * Bodies are Markdown without HTML, written by anybody. What a body can cost is bounded before it is parsed: a text with
 * too many characters that can be marks is shown as it was written. The bound counts characters and not time, so a body
 * looks the same on every reading.
 */

/** The most that a body may cost, see `parseCost`. About 7 ms of parsing, measured with the worst bodies known. */
export const maxBodyCost = 4000;
/** No body of 10,000 characters needs more elements. Their number bounds the size of the result. */
const maxTokens = 4000;
/** A row of a table is filled up to the columns of its head, so a few characters can make very many cells. */
const maxCells = 3000;
const maxNesting = 20;
/** How many characters without marks cost as much as one that can be a mark. */
const plainCharactersPerUnit = 64;

/**
 * What each ASCII character weighs besides: 1 where the parser's rule for plain text ends, and for pipes and the dots and
 * brackets of numbered lists. Addresses cost more than other marks, so what they cannot do without weighs more.
 */
const markCosts = new Uint8Array(128);
for (const character of "\n!#$%&*+-<=>@[\\]^_`{|}~.)") markCosts[character.charCodeAt(0)] = 1;
markCosts["/".charCodeAt(0)] = 2;
markCosts[":".charCodeAt(0)] = 3;

const plain = create();
const withTables = create();
plain.disable("table");

function create(): MarkdownIt {
  const markdown = new Markdown({ html: false, linkify: true, maxNesting });
  // Only what is written as an address becomes a link.
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  markdown.validateLink = (address) => /^(?:https?:\/\/|mailto:|\/(?!\/))/i.test(address);
  // An address that is defined once and used a thousand times would make a body many times as long.
  markdown.disable("reference");
  return markdown;
}

/** What it costs at most to render a body: the characters that can be marks, and a little for all others. */
export function parseCost(body: string): number {
  let marks = 0;
  for (let at = 0; at < body.length; at++) marks += markCostAt(body, at);
  return marks + Math.ceil(body.length / plainCharactersPerUnit);
}

/** The beginning of a body: at most so many code units, and so many characters that can be marks. */
export function beginningOf(body: string, maxLength: number, maxMarks: number): string {
  let marks = 0;
  let end = 0;
  while (end < body.length && end < maxLength) {
    marks += markCostAt(body, end);
    if (marks > maxMarks) break;
    end++;
  }
  return body.slice(0, end);
}

function markCostAt(body: string, at: number): number {
  const code = body.charCodeAt(at);
  return code < 128 ? (markCosts[code] as number) : 0;
}

/**
 * A body as HTML. Its headings begin at `heading` and leave no level out, so that they fit into the outline of the page. A
 * body that costs more than `maxBodyCost`, or makes too many elements, is shown as it was written.
 */
export function renderMarkdown(body: string, heading: number): Html {
  if (parseCost(body) > maxBodyCost) return renderPlainText(body);
  const tokens = parseMarkdown(body);
  let count = tokens.length;
  for (const { children } of tokens) count += children?.length ?? 0;
  if (count > maxTokens) return renderPlainText(body);
  fitHeadings(tokens, heading);
  return raw(tokensToHtml(tokens));
}

/** A body as plain text with its line breaks. */
export function renderPlainText(body: string): Html {
  return raw(`<p class="as-written">${escapeText(body)}</p>`);
}

/** The tokens of a body. The caller bounds its weight. */
export function parseMarkdown(body: string): Token[] {
  return (mayHoldTables(body) ? withTables : plain).parse(body, {});
}

function mayHoldTables(body: string): boolean {
  if (!body.includes("|") || !body.includes("-")) return false;
  let lines = 0;
  let columns = 0;
  for (const line of body.split("\n")) {
    lines++;
    columns = Math.max(columns, line.split("|").length);
  }
  return lines * columns <= maxCells;
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
