import { LRUCache } from "lru-cache";
import { beginningOf, parseMarkdown, type Token } from "./parse.ts";
import { truncate } from "./truncate.ts";

/** How much of a body is parsed. This bounds the cost, and usual text has enough for an excerpt there. */
const maxLength = 600;
const maxMarks = 250;
/** Holds the excerpts of about a thousand posts. */
const cache = new LRUCache<string, string>({
  maxSize: 1024 * 1024,
  sizeCalculation: (text, source) => source.length + text.length,
  memoMethod: (source) => visibleText(source),
});
/**
 * Matches every text that holds Markdown syntax, and some that do not: marks that may be inline syntax, addresses, and marks
 * at the beginning of a line that may begin a heading, a quote, a list or a rule.
 */
const mayBeSyntax = /[\\`*_~<&[\]|\0]|\/\/|mailto:|^[ \t]*(?:[#>+=-]|\d+[.)])/im;

/**
 * Matches where the beginning of a body may differ from its excerpt: Markdown syntax as above, and white space that is not a
 * single space between words.
 */
const mayDiffer = /[\\`*_~<&[\]|\0]|[^\S ]|[ /]{2}|[oO]:|^[ #>+=-]|^\d+(?:[.)]|$)/;

/**
 * The beginning of a body as one line of text, without Markdown syntax. Code is kept as it is, except for white space.
 * @param length the maximum length in code units, without the ellipsis at the end of a longer text
 */
export function excerpt(body: string, length = 220): string {
  // Most texts begin with a line of plain text. Nothing that comes later changes what it looks like.
  const beginning = body.slice(0, length + 2);
  const isTrimmed = beginning.length < body.length || !body.endsWith(" ");
  if (isTrimmed && length < maxLength && !mayDiffer.test(beginning)) return truncate(beginning, length);
  const source = beginningOf(body, maxLength, maxMarks);
  // Most texts are plain. They need no parser, and less time than the cache takes.
  const text = mayBeSyntax.test(source) ? cache.memo(source) : joinLines(source);
  // The excerpt shows that the body goes on, even if the visible text of the parsed part fits.
  return source.length < body.length && text.length < length ? `${text}…` : truncate(text, length);
}

/** The text that a reader would see. Exported for the test that compares it with excerpts that are made without the parser. */
export function visibleText(source: string): string {
  const parts: string[] = [];
  for (const token of parseMarkdown(source)) {
    if (token.type === "inline") for (const child of token.children ?? []) parts.push(inlineText(child));
    // A space separates blocks.
    else parts.push(" ", token.content);
  }
  return joinLines(parts.join(""));
}

function joinLines(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function inlineText({ type, content }: Token): string {
  return type === "softbreak" || type === "hardbreak" ? " " : content;
}
