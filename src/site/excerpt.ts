import type { Token } from "markdown-it";
import { beginningOf, parseMarkdown } from "./markdown.ts";
import { truncate } from "./text.ts";
import { TextCache } from "./text-cache.ts";

/** How much of a body is looked at. It bounds the cost, and holds more than any excerpt of usual text shows. */
const maxLength = 600;
const maxMarks = 250;
/** The characters of bodies and excerpts that are remembered: those of about a thousand posts. */
const remembered = new TextCache<string>(1024 * 1024);

/**
 * The beginning of a body on one line: what a reader sees of it, without the marks of Markdown. Code is kept letter for
 * letter but for its white space.
 * @param length in code units
 */
export function excerpt(body: string, length = 220): string {
  if (body === "") return "";
  const source = beginningOf(body, maxLength, maxMarks);
  const text = remembered.get(source, () => visibleText(source));
  // Where the source was cut, the excerpt says so even when all that is seen of it fits.
  return source.length < body.length && text.length < length ? `${text}…` : truncate(text, length);
}

function visibleText(source: string): string {
  const parts: string[] = [];
  for (const token of parseMarkdown(source)) {
    if (token.type === "inline") for (const child of token.children ?? []) parts.push(inlineText(child));
    // Blocks stand apart from each other.
    else parts.push(" ", token.content);
  }
  return parts.join("").replace(/\s+/g, " ").trim();
}

function inlineText({ type, content }: Token): string {
  return type === "softbreak" || type === "hardbreak" ? " " : content;
}
