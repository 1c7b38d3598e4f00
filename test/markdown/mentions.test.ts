import { describe, expect, it } from "vitest";
import { findMentions } from "../../src/markdown/mentions.ts";
import { maxBodyCost, parseCost } from "../../src/markdown/parse.ts";
import { cpuMs } from "../support/cpu-time.ts";

describe("mentions", () => {
  it.each([
    ["@Zeno, and @chrysippus!", ["zeno", "chrysippus"]],
    ["(@Zeno) *@Kleanthes* **@a_b-c** @@Panaitios", ["zeno", "kleanthes", "a_b-c", "panaitios"]],
    ["@zeno @ZENO @Zeno", ["zeno"]],
    ["\\\\@Zeno (@Kleanthes), a\\_b @Panai\\_tios @Hekaton.", ["zeno", "kleanthes", "panai_tios", "hekaton"]],
    [
      "1. @Zeno\n\n   @Kleanthes\n\n        @code\n2. ~~~\n   @code\n   ~~~\n   @Panaitios",
      ["zeno", "kleanthes", "panaitios"],
    ],
    ["> ```\n> @code\n> ```\n> @Zeno\n\na `` ` @code `` @Kleanthes ` @Panaitios", ["zeno", "kleanthes", "panaitios"]],
    ["See https://example.com/a?b=@code, @Zeno.", ["zeno"]],
    ["@Zeno [@code](/about) @Kleanthes", ["zeno", "kleanthes"]],
    ["a`code`@Zeno\nkleanthes", ["zeno"]],
    ["@Zeno  \nkleanthes", ["zeno"]],
    ["@Zenoさん、こんにちは@Kleanthes", ["zeno", "kleanthes"]],
    [
      "# @Zeno\n\n> @Kleanthes\n\n- @Panaitios\n\n| @Poseidonios |\n|---|\n| @Hekaton |",
      ["zeno", "kleanthes", "panaitios", "poseidonios", "hekaton"],
    ],
  ])("are found in %j", (body, names) => {
    expect(findMentions(body)).toEqual(names);
  });

  it.each([
    ["zeno@stoa.example", "after a word"],
    ["é@zeno _@ zeno **a**@zeno 1@zeno", "after a word"],
    ["@ab @-zeno @_zeno @", "what is no name"],
    [`@${"z".repeat(33)}`, "what is too long for a name"],
    ["`@zeno` ``@zeno``", "code"],
    ["```\n@zeno\n```\n\n~~~ @zeno\n@zeno\n~~~\n\n    @zeno", "a block of code"],
    ["https://example.com/@zeno <https://example.com/@zeno> example.com/@zeno git://host/@zeno", "an address"],
    ["[@zeno](https://example.com/@zeno) [a **@zeno**](/about) ![@zeno](/a.png)", "a link"],
    ["<zeno@stoa.example> <mailto:@zeno> mailto:a@zeno.example @zeno@stoa.example", "an e-mail address or a handle"],
    ["\\@zeno *\\@zeno* &#64;zeno &commat;zeno", "an escaped @"],
    ["- a\n\n      @zeno\n\n> ~~~\n> @zeno\n\n```\n@zeno, to the end of the text", "a block of code"],
  ])("are not found in %j: %s", (body) => {
    expect(findMentions(body)).toEqual([]);
  });

  it("count in a title, before the body and as plain text", () => {
    expect(findMentions("@kleanthes and @zeno", "`@Zeno`")).toEqual(["zeno", "kleanthes"]);
  });

  it("are those of the plain text, if a body is too costly to parse", () => {
    const body = (stars: number) => `\`@zeno\`${"*".repeat(stars)}`;
    expect([parseCost(body(3_935)), parseCost(body(3_936))]).toEqual([maxBodyCost, maxBodyCost + 1]);
    expect(findMentions(body(3_935))).toEqual([]);
    expect(findMentions(body(3_936))).toEqual(["zeno"]);
  });

  it("are ten at most", () => {
    const names = Array.from({ length: 12 }, (_, index) => `agent${index}`);
    expect(findMentions(names.map((name) => `@${name}`).join(" "))).toEqual(names.slice(0, 10));
    expect(findMentions("@again", names.map((name) => `@${name}`).join(" "))).toEqual(names.slice(0, 10));
  });

  it("take bounded time to find in a hostile text", () => {
    const texts = [
      "[".repeat(9_990),
      "`@zeno ".repeat(1_400),
      "@zeno".repeat(2_000),
      "@".repeat(10_000),
      `${"> ".repeat(2_000)}@zeno`,
      "@zeno|".repeat(1_600),
      "\\@zeno".repeat(1_600),
      "a.aa".repeat(2_500),
      "://@".repeat(2_500),
      `${"a.".repeat(4_997)}@zeno`,
      "[@zeno](/)".repeat(1_000),
    ];
    for (const text of texts)
      expect(
        cpuMs(() => findMentions(text), 50),
        text.slice(0, 20),
      ).toBeLessThan(50);
  });
});
