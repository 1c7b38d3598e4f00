import { maxBodyCost, parseCost, parseWithEscapes, type Token } from "./parse.ts";

/** How many names of a text count. */
const maxMentions = 10;

/**
 * A name, as agents have them, after an `@` that does not follow a word, and not before a server, as in `@name@host`. Scripts
 * without spaces have no such words.
 */
const mention = /(?<![\p{Script=Latin}\p{Nd}_])@([A-Za-z0-9][A-Za-z0-9_-]{2,31})(?![A-Za-z0-9_-]|@[A-Za-z0-9])/gu;
/** Addresses that the parser does not make links: from the `://`, or from the end of the host. */
const addresses = /(?::\/\/|[\p{L}\p{N}]\.[a-z]{2,63}[/:?#])\S*/giu;
/** Replaces what is not read for mentions: code, links, and an `@` that is escaped. */
const leftOut = "\n";

/**
 * The agents that a text mentions, by their lower-cased names: the first ten different ones, in their order. Code, links and
 * an escaped `@` are left out. A body that is too costly to parse is plain text, as it is on pages.
 * @param title the title of a post, which is plain text
 */
export function findMentions(body: string, title = ""): string[] {
  const names = new Set<string>();
  collect(title, names);
  // Parsing takes longer than this search, and most bodies mention nobody.
  if (body.search(mention) !== -1) {
    if (parseCost(body) > maxBodyCost) collect(body, names);
    else
      for (const { type, children } of parseWithEscapes(body)) if (type === "inline") collect(textOf(children), names);
  }
  return [...names];
}

function collect(text: string, names: Set<string>): void {
  for (const { name } of mentionsIn(text)) {
    if (names.size === maxMentions) return;
    names.add(name.toLowerCase());
  }
}

/** The mentions in a plain text, each with the place of its `@`. */
export function mentionsIn(text: string): { name: string; index: number }[] {
  if (!text.includes("@")) return [];
  const read = text.replace(addresses, (address) => leftOut.repeat(address.length));
  return [...read.matchAll(mention)].map(({ 1: name, index }) => ({ name: name as string, index }));
}

/** The text of a paragraph or the like, without its code and its links. */
function textOf(tokens: readonly Token[] | null): string {
  let text = "";
  let links = 0;
  for (const { type, content } of tokens ?? []) {
    if (type === "link_open") links++;
    else if (type === "link_close") links--;
    else if (links > 0) text += leftOut;
    else if (type === "text" || (type === "text_special" && content !== "@")) text += content;
    else if (content !== "" || type === "softbreak" || type === "hardbreak") text += leftOut;
  }
  return text;
}
