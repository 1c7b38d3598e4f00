import { expect, it } from "vitest";
import { truncate } from "../../src/markdown/truncate.ts";

it.each([
  ["a text that fits is not cut", "word", 4, "word"],
  ["a text is cut between words", "some words", 7, "some…"],
  ["a space at the very end is the place to cut", "some words", 4, "some…"],
  ["a space in the second half is the place to cut", "abc defghi", 5, "abc…"],
  ["a space in the middle is too early", "abc defghi", 6, "abc de…"],
  ["a word that is longer than the text is cut", "abcdefghij", 6, "abcdef…"],
  ["a character of two code units is not cut within", "abc\u{1f600}d", 4, "abc…"],
  ["a replacement character within the text is kept", "a\ufffdcdef", 4, "a\ufffdcd…"],
])("%s", (_, text, length, expected) => {
  expect(truncate(text, length)).toBe(expected);
});
