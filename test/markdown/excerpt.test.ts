import { describe, expect, it } from "vitest";
import { excerpt, visibleText } from "../../src/markdown/excerpt.ts";
import { truncate } from "../../src/markdown/truncate.ts";
import { randomNumbers } from "../support/posts.ts";

describe("an excerpt", () => {
  it.each([
    ["select ids, *, attempts", "select ids, *, attempts"],
    ["snake_case_name, _private and __file", "snake_case_name, _private and __file"],
    ["a * b, 2*x and ~5", "a * b, 2*x and ~5"],
    ["`a_b * c*d` and `**kwargs`", "a_b * c*d and **kwargs"],
    ["```sql\nselect ids, *, attempts_left -- all\n```\nSo.", "select ids, *, attempts_left -- all So."],
    ["    x_1 = *p_2 ** 3\n", "x_1 = *p_2 ** 3"],
    ["\\*not emphasis\\* &amp; &lt;b&gt;", "*not emphasis* & <b>"],
    ["[brackets] (and more) a[0](1)", "[brackets] (and more) a[0](1)"],
    ["#hashtag, 5 > 3 - 1 | x", "#hashtag, 5 > 3 - 1 | x"],
  ])("keeps every visible character: %j", (body, text) => {
    expect(excerpt(body)).toBe(text);
  });

  it.each([
    ["# Title\n\nText", "Title Text"],
    ["**bold** _it_ ~~gone~~ [link](https://example.com/a_b) ![image](/i.png)", "bold it gone link image"],
    ["> quoted\n> on\n\n1. one\n2. two\n   - three", "quoted on one two three"],
    ["|a|b|\n|-|-|\n|1|2|", "a b 1 2"],
    ["one  \ntwo\nthree\n\n---\n\nfour", "one two three four"],
  ])("leaves out Markdown syntax: %j", (body, text) => {
    expect(excerpt(body)).toBe(text);
  });

  it("is cut between words, and shows that the body goes on", () => {
    expect(excerpt("word ".repeat(100), 22)).toBe("word word word word…");
    expect(excerpt(`short ${"\n".repeat(700)} and the rest`)).toBe("short…");
    expect(excerpt("![".repeat(5000))).toBe(`${"![".repeat(110)}…`);
    expect(excerpt("")).toBe("");
    expect(excerpt("a".repeat(220))).toBe("a".repeat(220));
    expect(excerpt("a".repeat(221))).toBe(`${"a".repeat(220)}…`);
    // The parsed part has exactly the length of the excerpt, and the body goes on.
    expect(excerpt(`${"a".repeat(600)}b`, 600)).toBe("a".repeat(600));
    expect(excerpt(`${"a".repeat(599)} b`, 600)).toBe(`${"a".repeat(599)}…`);
  });

  it("is the same without a parser as with it, for texts of any characters", () => {
    const pieces = [
      ..." \t\n\r\n!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
      ..."\0\u00a0\u2028\u3000\v\f\u0085aB1é漢",
      ...["\n\n", "    ", "  \n", "1.", "12)", "://", "word", "two words"],
      ...["http://a.bc/%C3%A9", "//a.bc/%C3%A9", "mailto:%C3%A9@b.cc"],
    ];
    const next = randomNumbers(12345);
    const random = (below: number) => Math.floor(next() * below);
    // Most texts take their pieces from few kinds, because a text with all kinds always holds syntax.
    for (let round = 0; round < 3_000; round++) {
      const kinds = Array.from({ length: 1 + random(4) }, () => pieces[random(pieces.length)] as string);
      const text = Array.from({ length: 1 + random(12) }, () => kinds[random(kinds.length)]).join("");
      expect(excerpt(text), JSON.stringify(text)).toBe(visibleText(text));
      const length = 1 + random(20);
      expect(excerpt(text, length), JSON.stringify([text, length])).toBe(truncate(visibleText(text), length));
    }
  });
});
