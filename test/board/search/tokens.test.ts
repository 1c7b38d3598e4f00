import { describe, expect, it } from "vitest";
import { normalize, runsOf, tokensOf } from "../../../src/board/search/tokens.ts";
import { cpuMs } from "../../support/cpu-time.ts";

/** Different words. */
const words = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `w${from + index}`).join(" ");

describe("normalize", () => {
  it.each([
    ["Straße", "STRASSE"],
    ["ΟΔΟΣ", "οδος"],
    ["ﬁne", "FINE"],
    ["ＡＢＣ１", "abc1"],
    ["ｱﾆﾒ", "アニメ"],
    ["e\u0301", "É"],
    ["co\u00ADop\u200D", "coop"],
    ["Ǆ", "ǆ"],
  ])("%s equals %s", (one, other) => {
    expect(normalize(one)).toBe(normalize(other));
  });

  it.each([
    ["a", "á"],
    ["か", "が"],
    ["1", "01"],
  ])("%s differs from %s", (one, other) => {
    expect(tokensOf(one)).not.toBe(tokensOf(other));
  });
});

describe("a text of marks that combine", () => {
  // The order of marks takes a time that grows with the square of their number: 100 ms for the 10,000 of a post.
  it.each([
    ["in two classes", "\u0301\u0316"],
    ["some of them letters", "\u0301\uff9e"],
    ["with invisible characters between", `${"\u0301\u0316".repeat(15)}\u200b`],
  ])("is cut: %s", (_, marks) => {
    const text = normalize(`a${marks.repeat(200)} b`);
    expect(text.length).toBeLessThanOrEqual("a b".length + 30);
    expect(runsOf(text).at(-1)?.text).toBe("b");
  });

  it("keeps what languages need", () => {
    for (const count of [29, 30, 31]) {
      const [run] = runsOf(normalize(`q${"\u0332".repeat(count)}`));
      expect(run?.text).toHaveLength(1 + Math.min(30, count));
    }
  });
});

describe("tokensOf", () => {
  it("makes short ASCII tokens of words", () => {
    expect(tokensOf("The I, node.js the")).toBe(" qthe qi__ qnode qjs_ qthe ");
    expect(tokensOf("")).toBe("  ");
  });

  it.each([
    ["stoicism12", "q_tn6znbam"],
    ["émigré", "q_qgxbxwoa"],
    ["philosophy5", "q_036ba2k9"],
  ])("makes the same token of %s on every machine: it is stored", (word, token) => {
    expect(tokensOf(word)).toBe(` ${token} `);
  });

  it.each([
    ["3,000 tokens", "a b ".repeat(1_501), "qa__ qb__ ".repeat(1_500)],
    ["2,000 different ones", words(0, 2_001), `${tokensOf(words(0, 2_000)).trim()} `],
    [
      "2,000 different ones, with others between",
      `${words(0, 2_000)} w0 w2000 w1`,
      `${tokensOf(words(0, 2_000)).trim()} qw0_ `,
    ],
  ])("cuts a text after %s", (_, text, tokens) => {
    expect(tokensOf(text)).toBe(` ${tokens}`);
  });

  it("counts the characters of scripts without spaces among the different tokens", () => {
    const characters = Array.from({ length: 1_200 }, (_, index) => String.fromCodePoint(0x4e00 + index));
    const tokens = tokensOf(characters.join("")).trim().split(" ");
    // 1,000 pairs would have 1,001 characters.
    expect(tokens.filter((token) => token.length === 9)).toHaveLength(1_000);
    expect(tokens.filter((token) => token.length === 5)).toHaveLength(1_001);
    expect(tokensOf("x ".repeat(3_000)).length).toBeLessThanOrEqual(45_000);
  });

  it("makes pairs of neighbours in scripts without spaces, and single characters at the end", () => {
    expect(tokensOf("漢字漢 a")).toBe(" z0lya0i1j z0i1j0lya qa__ z0lya z0i1j ");
    expect(tokensOf("手")).toBe(" z0jez z0jez ");
  });

  it("makes tokens of 4 to 10 characters of anything", () => {
    const characters = Array.from({ length: 0x11_00 }, (_, index) =>
      String.fromCodePoint(index * 0x1_00 + (index % 256)),
    );
    const words = [...characters, "x".repeat(10_000), characters.join(""), characters.join(" ")];
    for (const word of words) expect(tokensOf(word)).toMatch(/^ (?:[qz][0-9a-z_]{3,9} )* ?$/);
  });

  it("cuts a text that becomes too long", () => {
    expect(normalize("\uFDFA".repeat(1_800)).length).toBe(32_400);
    expect(normalize("\uFDFA".repeat(2_000)).length).toBe(32_768);
  });

  it.each([
    ["ligatures", "\uFDFA"],
    ["marks", "e\u0301\u0302\u0303"],
    ["neighbours", "漢a"],
    ["long words", "äöü"],
    ["invisible characters", "a\u200D"],
    ["rare characters", "\u{20000}"],
  ])("takes a bounded time for the longest text of %s", (_, unit) => {
    const text = Array.from(unit.repeat(10_000)).slice(0, 10_300).join("");
    expect(cpuMs(() => tokensOf(text), 40)).toBeLessThan(40);
  });
});
