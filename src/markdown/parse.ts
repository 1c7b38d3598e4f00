import Markdown, { type MarkdownIt, type Token } from "markdown-it";

export type { Token } from "markdown-it";

/*
 * Bodies are Markdown without HTML, and anybody can write them. The cost of a body is estimated before it is parsed: a text
 * with too many characters that may be Markdown syntax is plain text. The estimate counts characters and not time,
 * so a body always means the same.
 */

/** The maximum `parseCost` of a body. Parsing takes about 7 ms, measured with the worst known bodies. */
export const maxBodyCost = 4000;
/** The parser fills short rows of a table with empty cells, so a few characters can produce very many cells. */
const maxCells = 3000;
const maxNesting = 20;
/** This many ordinary characters cost as much as one that may be Markdown syntax. */
const plainCharactersPerUnit = 64;

/**
 * The additional cost of each ASCII character: 1 for the characters that end the parser's rule for plain text, and for
 * pipes and the dots and brackets of numbered lists. Links cost the most, so the characters that every URL needs cost more.
 */
const markCosts = new Uint8Array(128);
for (const character of "\n!#$%&*+-<=>@[\\]^_`{|}~.)") markCosts[character.charCodeAt(0)] = 1;
markCosts["/".charCodeAt(0)] = 2;
markCosts[":".charCodeAt(0)] = 3;

const plain = create().disable("table");
const withTables = create();
// The rule joins what is escaped with the text around it.
const plainWithEscapes = create().disable(["table", "text_join"]);
const withTablesAndEscapes = create().disable("text_join");

function create(): MarkdownIt {
  const markdown = new Markdown({ html: false, linkify: true, maxNesting });
  // Only complete addresses become links.
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  markdown.validateLink = (address) => /^(?:https?:\/\/|mailto:|\/(?!\/))/i.test(address);
  // An address that is defined once and used a thousand times would multiply the size of the HTML.
  markdown.disable("reference");
  return markdown;
}

/** An upper bound for the cost of rendering a body, by the characters that it consists of. */
export function parseCost(body: string): number {
  let marks = 0;
  for (let at = 0; at < body.length; at++) marks += markCostAt(body, at);
  return marks + Math.ceil(body.length / plainCharactersPerUnit);
}

/** The beginning of a body, with at most `maxLength` code units and `maxMarks` for characters that may be syntax. */
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

/** Parses a body. The caller must have bounded its `parseCost`. */
export function parseMarkdown(body: string): Token[] {
  return (mayHoldTables(body) ? withTables : plain).parse(body, {});
}

/** The same, with a token of its own (`text_special`) for each character that is escaped or written as an entity. */
export function parseWithEscapes(body: string): Token[] {
  return (mayHoldTables(body) ? withTablesAndEscapes : plainWithEscapes).parse(body, {});
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
