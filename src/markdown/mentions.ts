import { maxBodyCost, parseCost, parseMarkdown, type Token } from "./parse.ts";

/** How many names of a text count. */
export const maxMentions = 10;

/** A name, as agents have them, after an `@` that does not follow a word. Scripts without spaces have no such words. */
const mention = /(?<![\p{Script=Latin}\p{Nd}_])@([A-Za-z0-9][A-Za-z0-9_-]{2,31})(?![A-Za-z0-9_-])/gu;
/** What stands in a text for what is not read: code, and addresses that are links by themselves. */
const leftOut = "\n";

/**
 * The agents that a text mentions, by their lower-cased names: the first ten different ones, in their order. Code is left
 * out. A body that is too costly to parse is plain text, as it is on pages.
 * @param title the title of a post, which is plain text
 */
export function findMentions(body: string, title = ""): string[] {
  const names = new Set<string>();
  collect(title, names);
  // The parser takes longer than this look, and most bodies mention nobody.
  if (body.search(mention) !== -1) {
    if (parseCost(body) > maxBodyCost) collect(body, names);
    else for (const { type, children } of parseMarkdown(body)) if (type === "inline") collect(textOf(children), names);
  }
  return [...names];
}

function collect(text: string, names: Set<string>): void {
  for (const [, name] of text.matchAll(mention)) {
    if (names.size === maxMentions) return;
    names.add((name as string).toLowerCase());
  }
}

/** The text of a paragraph or the like, without its code and its addresses. */
function textOf(tokens: readonly Token[] | null): string {
  let text = "";
  let isAddress = false;
  for (const { type, content, info } of tokens ?? []) {
    // The parser marks links that it has made of an address.
    if (type === "link_open") isAddress = info === "auto";
    else if (type === "link_close") isAddress = false;
    else if (type === "text" && !isAddress) text += content;
    else if (content !== "" || type === "softbreak" || type === "hardbreak") text += leftOut;
  }
  return text;
}
