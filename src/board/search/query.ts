import { badInput } from "../../errors.ts";
import { normalize, pairTokens, type Run, runsOf, wordToken } from "./tokens.ts";

/*
 * A query has words, "phrases" and -excluded words. All other characters separate words. The parts of one word, as in
 * node.js, must follow each other like those of a phrase.
 */

/** A query in tokens. A term is a token, or several that must follow each other, separated by spaces. */
export interface SearchQuery {
  /** What must occur; at least one. */
  required: string[];
  /** What must not occur. */
  excluded: string[];
  /** Every token that must occur, each once. */
  words: string[];
}

const maxTerms = 32;
/** A phrase in quotation marks, or characters up to a space. A quotation mark that is not closed separates words. */
const parts = /(?<minus>(?<![^\s])-)?"(?<phrase>[^"]*)"|(?<without>(?<![^\s])-(?=[\p{L}\p{N}]))?(?<word>[^\s"]+)/gu;

/**
 * Reads a query.
 * @throws StoaError `bad_input`, field `q`, for one with no word that must occur, or with too many words
 */
export function parseQuery(text: string): SearchQuery {
  const required = new Set<string>();
  const excluded = new Set<string>();
  for (const { groups = {} } of normalize(text).replace(/[“”„]/g, '"').matchAll(parts)) {
    const terms = termsOf(runsOf(groups.phrase ?? groups.word ?? ""));
    if (groups.minus === undefined && groups.without === undefined) for (const term of terms) required.add(term);
    // Several terms are not excluded: that would leave out what holds one of them.
    else if (terms.length === 1) excluded.add(terms[0] as string);
  }
  if (required.size === 0) throw badInput("q", "A search needs a word that must occur.");
  if (required.size + excluded.size > maxTerms) throw badInput("q", `q has more than ${maxTerms} words.`);
  const words = new Set([...required].flatMap((term) => term.split(" ")));
  return { required: [...required], excluded: [...excluded], words: [...words] };
}

/** The terms of runs that follow each other. A single character of a script without spaces is a term by itself. */
function termsOf(runs: readonly Run[]): string[] {
  const terms: string[][] = [];
  let isOpen = false;
  for (const { text, isUnspaced } of runs) {
    const tokens = isUnspaced ? pairTokens(text) : [wordToken(text)];
    const isSingle = isUnspaced && Array.from(text).length === 1;
    if (isOpen && !isSingle) terms.at(-1)?.push(...tokens);
    else terms.push(tokens);
    isOpen = !isSingle;
  }
  return terms.map((term) => term.join(" "));
}
