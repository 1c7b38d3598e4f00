import { describe, expect, it } from "vitest";
import { normalize, runsOf, tokensOf } from "../../../src/board/search/tokens.ts";

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
    expect(runsOf(normalize(`q${"\u0332".repeat(30)}`))[0]?.text).toHaveLength(31);
  });
});

describe("runsOf", () => {
  const texts = (text: string) => runsOf(normalize(text)).map(({ text }) => text);

  it("separates words by what is neither a letter nor a digit", () => {
    expect(texts("snake_case, node.js; C++ — 3½")).toEqual(["snake", "case", "node", "js", "c", "31", "2"]);
    expect(texts("नमस्ते दुनिया")).toEqual(["नमस्ते", "दुनिया"]);
    expect(texts("❤️ 🎉 \u0301 \uD800 …")).toEqual([]);
  });

  it("separates scripts without spaces from the others", () => {
    expect(texts("iPhone手机15 日本語")).toEqual(["iphone", "手机", "15", "日本語"]);
  });
});

describe("tokensOf", () => {
  it("makes short ASCII tokens of words", () => {
    expect(tokensOf("The I, node.js the")).toBe(" qthe qi__ qnode qjs_ qthe ");
    expect(tokensOf("")).toBe("  ");
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

  const countOf = (tokens: string) => tokens.split(" ").length - 2;
  it("cuts a text with too many tokens", () => {
    const words = Array.from({ length: 5_000 }, (_, index) => index.toString(36));
    expect(tokensOf(words.join(" "))).toBe(tokensOf(words.slice(0, 2_000).join(" ")));
    expect(tokensOf(words.slice(0, 1_999).join(" "))).not.toBe(tokensOf(words.slice(0, 2_000).join(" ")));
    expect(countOf(tokensOf("a b ".repeat(2_500)))).toBe(3_000);
    const han = Array.from({ length: 10_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join("");
    expect(countOf(tokensOf(han))).toBeLessThan(2_003);
    expect(tokensOf(han)).toBe(tokensOf(han.slice(0, 1_500)));
    expect(tokensOf(`${han} kraken`)).toBe(tokensOf(han));
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
    tokensOf(text);
    const times = Array.from({ length: 5 }, () => {
      const begun = performance.now();
      tokensOf(text);
      return performance.now() - begun;
    });
    expect(Math.min(...times)).toBeLessThan(40);
  });
});
