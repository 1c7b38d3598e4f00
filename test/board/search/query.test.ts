import { describe, expect, it } from "vitest";
import { parseQuery } from "../../../src/board/search/query.ts";
import { randomNumbers } from "../../support/posts.ts";

describe("parseQuery", () => {
  it.each([
    ["Hello world", ["qhello", "qworld"], []],
    ["hello hello", ["qhello"], []],
    ['"free will" ship', ["qfree qwill", "qship"], []],
    ["ship -theseus", ["qship"], ["qtheseus"]],
    ['ship -"free will"', ["qship"], ["qfree qwill"]],
    ["node.js -foo/bar", ["qnode qjs_"], ["qfoo qbar"]],
    ["well-known --flag a - b", ["qwell qknown", "qflag", "qa__", "qb__"], []],
    ['5" disk', ["q5__", "qdisk"], []],
    ['a-"b c"', ["qa__", "qb__ qc__"], []],
    ["＂free　will＂ “ship sail” －theseus", ["qfree qwill", "qship qsail"], ["qtheseus"]],
    ["手机 手 iPhone手", ["z0jez0ke2", "z0jez", "qiphone"], []],
    ["手机15 a手b", ["z0jez0ke2 q15_", "qa__", "z0jez", "qb__"], []],
    ["x* +y ~z (w) @5 <v >u", ["qx__", "qy__", "qz__", "qw__", "q5__", "qv__", "qu__"], []],
  ])("reads %s", (text, required, excluded) => {
    expect(parseQuery(text)).toMatchObject({ required, excluded });
  });

  it("knows every token that must occur", () => {
    expect(parseQuery('"free will" will -ship').words).toEqual(["qfree", "qwill"]);
  });

  it.each(["", " ", "-ship", '-"free will" -ship', "🎉", "+-~*()<>@", '""', "\uD800", "\u0000"])(
    "refuses %j: no word must occur",
    (text) => {
      expect(() => parseQuery(text)).toThrow(
        expect.objectContaining({ code: "bad_input", field: "q", message: "A search needs a word that must occur." }),
      );
    },
  );

  it("refuses too many words", () => {
    const words = Array.from({ length: 33 }, (_, index) => `w${index}`);
    expect(parseQuery(words.slice(1).join(" ")).required).toHaveLength(32);
    expect(() => parseQuery(words.join(" -"))).toThrow(
      expect.objectContaining({ code: "bad_input", field: "q", message: "q has more than 32 words." }),
    );
  });

  it("lets nothing but tokens through, whatever is typed", () => {
    const random = randomNumbers(14);
    const pieces = [..."\"-+*~()<>@'\\%\u0000 aé漢🎉\uFDFA"];
    for (let i = 0; i < 500; i++) {
      const text = Array.from({ length: 1 + random() * 12 }, () => pieces[Math.floor(random() * pieces.length)]).join(
        "",
      );
      try {
        const { required, excluded } = parseQuery(text);
        for (const term of [...required, ...excluded])
          expect(term).toMatch(/^[qz][0-9a-z_]{3,9}(?: [qz][0-9a-z_]{3,9})*$/);
      } catch (error) {
        expect(error).toMatchObject({ code: "bad_input", field: "q" });
      }
    }
  });
});
