import { describe, expect, it } from "vitest";
import { decodeSearchCursor, encodeSearchCursor } from "../../../src/board/search/cursor.ts";

const words = Array.from({ length: 12 }, (_, index) => `qword${index}`);
const identity = ["text", "posts", null, null, "relevance"];
const after = { id: 7, relevance: 0.5 };

describe("the cursor of a search", () => {
  const decoded = (chosen: readonly string[]) =>
    decodeSearchCursor(encodeSearchCursor(identity, { plan: { by: "rank", words: chosen }, after }), identity, words);

  it("has the words that the index is asked for", () => {
    const chosen = words.slice(0, 8);
    expect(decoded(chosen)).toEqual({ plan: { by: "rank", words: chosen }, after });
  });

  it.each([
    ["with more words than a search has", words.slice(0, 9)],
    ["with a word twice", ["qword1", "qword1"]],
    ["with a word of another search", ["qother"]],
    ["without words", []],
  ])("is refused %s", (_, chosen) => {
    expect(() => decoded(chosen)).toThrow("This is not a cursor of this search.");
  });
});
