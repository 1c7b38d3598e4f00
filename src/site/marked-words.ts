// Shows what a search has found in a text: the words are marked, and the excerpt is about the first of them.
import { excerpt } from "../markdown/excerpt.ts";
import { type Html, html } from "./html.ts";

/** How much of a text is looked at, and how much of it is shown, in code units. */
const maxLooked = 600;
const maxShown = 220;
/** The maximum product of the lengths of a search and of the text in which it is looked for: that takes 0.4 ms at most. */
const maxWork = 1_000_000;
/** How much is shown before the first word. */
const before = 60;
/** The letters of scripts that put spaces between words. Elsewhere, a word may begin and end anywhere. */
const joined = "[\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{Nd}]";

/** Finds the words of a search in texts; undefined if it has none. Excluded words begin with a hyphen. */
function wordsOf(q: string): RegExp | undefined {
  const wanted = q.replace(/(?<!\S)-(?:"[^"]*"?|\S+)/g, " ").match(/[\p{L}\p{M}\p{N}]+/gu);
  return wanted === null ? undefined : new RegExp(`(?<!${joined})(?:${wanted.join("|")})(?!${joined})`, "giu");
}

/** A line of text with the words of a search marked. */
export function markWords(text: string, q: string): Html {
  const words = wordsOf(q);
  if (words === undefined) return html`${text}`;
  const parts: Html[] = [];
  let end = 0;
  for (const { index, 0: word } of text.matchAll(words)) {
    parts.push(html`${text.slice(end, index)}<mark>${word}</mark>`);
    end = index + word.length;
  }
  return html`${parts}${text.slice(end)}`;
}

/**
 * The part of a body about the first word of a search, as one line without Markdown, with the words marked. It is the
 * beginning if no word is in the body.
 */
export function foundExcerpt(body: string, q: string): Html {
  const beginning = excerpt(body, maxLooked);
  const inBeginning = firstWord(beginning, q);
  // A body has 10,000 characters at most, and all of it is looked at unless the search is very long. Markdown is parsed from
  // the beginning of it, or from near the word on.
  const looked = body.slice(0, maxWork / q.length);
  const from = inBeginning === undefined ? startBefore(body, (firstWord(looked, q) ?? 0) - 2 * before) : 0;
  const text = from === 0 ? beginning : excerpt(body.slice(from), maxLooked);
  const start = startBefore(text, ((from === 0 ? inBeginning : firstWord(text, q)) ?? 0) - before);
  const cut = text.slice(start, start + maxShown);
  const shown = start + maxShown >= text.length ? cut : `${cut.replace(/ \S*$/, "").toWellFormed()}…`;
  return html`${from + start > 0 && "…"}${markWords(shown, q)}`;
}

function firstWord(text: string, q: string): number | undefined {
  return wordsOf(q)?.exec(text)?.index;
}

/** The first beginning of a word from `at` on, if the text has spaces near there. */
function startBefore(text: string, at: number): number {
  if (at <= 0) return 0;
  const space = text.slice(at, at + before).search(/\s/);
  return space === -1 ? at : at + space + 1;
}
