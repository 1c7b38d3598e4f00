import { describe, expect, it } from "vitest";
import { decodeCursor, encodeCursor } from "../../../src/board/cursors.ts";
import { decodeSearchCursor, encodeSearchCursor } from "../../../src/board/search/cursor.ts";

const words = Array.from({ length: 12 }, (_, index) => `qword${index}`);
const identity = ["text", "posts", null, null, "relevance"];
const after = { id: 7, relevance: 0.5 };

describe("the cursor of a search", () => {
  const decoded = (chosen: readonly string[]) =>
    decodeSearchCursor(encodeSearchCursor(identity, { plan: { by: "rank", words: chosen }, after }), identity, words);

  it.each([
    ["with more words than a search has", words.slice(0, 9)],
    ["with a word twice", ["qword1", "qword1"]],
    ["with a word of another search", ["qother"]],
    ["without words", []],
  ])("is refused %s", (_, chosen) => {
    expect(() => decoded(chosen)).toThrow("This is not a cursor of this search.");
  });

  /** The values of a good cursor, with others at some places. */
  function changed(by: "rank" | "scan", changes: Record<number, string | number | null>): string {
    const plan = by === "scan" ? ({ by } as const) : { by, words: ["qword1", "qword2"] };
    const values = [...decodeCursor(encodeSearchCursor(identity, { plan, after }))];
    for (const [place, value] of Object.entries(changes)) values[Number(place)] = value;
    return encodeCursor(values);
  }

  it.each<[what: string, by: "rank" | "scan", changes: Record<number, string | number | null>]>([
    ["of another kind", "rank", { 0: "posts" }],
    ["of another search", "rank", { 1: "AAAAAAAAAAAAAAAA" }],
    ["with an unknown plan", "rank", { 2: "all" }],
    ["with an unknown plan, without words", "scan", { 2: "all" }],
    ["that reads items, with words", "scan", { 3: "qword1" }],
    ["that asks the index, with the empty word", "rank", { 3: "" }],
    ["whose words are no text", "rank", { 3: 7 }],
    ["whose words are absent", "rank", { 3: null }],
    ["with one known and one unknown word", "rank", { 3: "qword1 qother" }],
    ["whose relevance is a text", "rank", { 4: "0.5" }],
    ["whose id is a text", "rank", { 5: "7" }],
    ["whose id is a fraction", "rank", { 5: 7.5 }],
    ["whose id is too large", "rank", { 5: 2 ** 53 }],
    ["with one value more", "rank", { 6: 0 }],
  ])("is refused as bad input: %s", (_, by, changes) => {
    expect(decodeSearchCursor(changed(by, {}), identity, words).plan.by).toBe(by);
    expect(() => decodeSearchCursor(changed(by, changes), identity, words)).toThrow(
      expect.objectContaining({ code: "bad_input", field: "cursor", message: "This is not a cursor of this search." }),
    );
  });

  it("is refused by a search for something else", () => {
    const text = changed("scan", {});
    for (const other of [["text2", ...identity.slice(1)], identity.slice(1), [...identity, null]]) {
      expect(() => decodeSearchCursor(text, other, words)).toThrow("This is not a cursor of this search.");
    }
  });
});
