import { hash } from "node:crypto";

/*
 * Words become tokens before the engine sees them: 4 to 10 characters of [0-9a-z_]. Every server indexes these, whatever
 * its settings for the length of words, stop words and parsers are, and none of its operators can occur in them.
 *
 *   q + word    a word of up to 9 ASCII letters and digits, filled up with _ to 4 characters
 *   q_ + hash   another word
 *   z + two     two neighbours in a script without spaces
 *   z + one     one character of such a script
 */

/** A stretch of letters and digits: a word, or a run of a script that does not separate words. */
export interface Run {
  /** In normal form: compatibility characters are replaced, and upper and lower case are equal. */
  readonly text: string;
  /** Whether the script writes without spaces. */
  readonly isUnspaced: boolean;
}

/** Invisible characters: joiners, soft hyphens, variation selectors. They are ignored within words. */
const ignorable = /\p{Default_Ignorable_Code_Point}+/gu;
/**
 * Combining marks beyond the first 30 on a character (https://unicode.org/reports/tr15/, "stream-safe"). NFKC sorts marks in
 * a time that grows with the square of their number. No language needs so many.
 */
const excessMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;
const words = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const unspaced =
  "\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}";
/** Digits belong to every script, and so do marks: they stay with the letters around them. */
const runs = new RegExp(`[[${unspaced}]--\\p{N}]+|[^[${unspaced}]--\\p{N}]+`, "gv");
const isUnspacedRun = new RegExp(`^[[${unspaced}]--\\p{N}]`, "v");
const shortWord = /^[0-9a-z]{1,9}$/;
/** Some characters become many in normal form. What exceeds this many UTF-16 units is not indexed. */
const maxLength = 32_768;
const ascii = /^[\n\r\t -~]*$/;

/**
 * Brings a text into the form in which texts are compared: NFKC, without differences of case, NFKC again. Upper case comes
 * first, because some letters have two lower cases (ς, σ) or become several letters (ß).
 */
export function normalize(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  const whole = withoutExcess(text).normalize("NFKC").slice(0, maxLength);
  const folded = whole.replace(ignorable, "").toUpperCase().toLowerCase().replaceAll("ς", "σ");
  return withoutExcess(folded).normalize("NFKC");
}

function withoutExcess(text: string): string {
  return text.replace(excessMarks, "$1");
}

/** The words of a normalized text, in order. What is neither a letter nor a digit separates them. */
export function runsOf(normalized: string): Run[] {
  if (ascii.test(normalized)) {
    return (normalized.match(/[0-9a-z]+/g) ?? []).map((text) => ({ text, isUnspaced: false }));
  }
  return (normalized.match(words) ?? []).flatMap((word) =>
    (word.match(runs) ?? []).map((text) => ({ text, isUnspaced: isUnspacedRun.test(text) })),
  );
}

/** The token of a word. */
export function wordToken(word: string): string {
  if (shortWord.test(word)) return `q${word}`.padEnd(4, "_");
  // 41 bits. A search for a word also finds another word that has the same token. Among ten million words, the probability that
  // a given word has the token of another one is 4 in a million.
  const number = Number.parseInt(hash("sha256", word, "hex").slice(0, 13), 16) % 36 ** 8;
  return `q_${number.toString(36).padStart(8, "0")}`;
}

/** The tokens of a run in a script without spaces: its pairs of neighbours, or the single character. */
export function pairTokens(run: string): string[] {
  const codes = Array.from(run, codeOf);
  if (codes.length === 1) return [`z${codes[0]}`];
  return codes.slice(1).map((code, index) => `z${codes[index]}${code}`);
}

/**
 * How many tokens a text has in the index: in all, and different ones. The engines take about 20 microseconds for each, and
 * other writes wait for that. A search reads all tokens of what may match.
 */
const maxTokens = 3_000;
const maxDifferent = 2_000;

/**
 * The tokens of a text as they are indexed: in order, between spaces. Every character of a script without spaces follows
 * once more by itself, so that one character can be looked for, too. A text with too many tokens is cut.
 */
export function tokensOf(text: string): string {
  const tokens: string[] = [];
  const different = new Set<string>();
  const characters = new Set<string>();
  for (const token of allTokens(normalize(text))) {
    const isNew = !different.has(token);
    if (tokens.length === maxTokens || (isNew && different.size + characters.size >= maxDifferent)) break;
    tokens.push(token);
    different.add(token);
    if (isNew && token.startsWith("z")) for (const character of charactersOf(token)) characters.add(character);
  }
  return ` ${[...tokens, ...characters].join(" ")} `;
}

function* allTokens(normalized: string): Generator<string> {
  for (const { text, isUnspaced } of runsOf(normalized)) {
    if (isUnspaced) yield* pairTokens(text);
    else yield wordToken(text);
  }
}

/** The tokens of the one or two characters of a token of a script without spaces. */
function charactersOf(token: string): string[] {
  return (token.slice(1).match(/.{4}/g) ?? []).map((code) => `z${code}`);
}

/** Four digits for every code point. */
function codeOf(character: string): string {
  return (character.codePointAt(0) as number).toString(36).padStart(4, "0");
}
