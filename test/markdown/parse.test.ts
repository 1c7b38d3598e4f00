import { describe, expect, it } from "vitest";
import { beginningOf, parseCost, parseMarkdown, parseWithEscapes } from "../../src/markdown/parse.ts";

describe("the cost of a body", () => {
  it.each([
    ["", 0],
    ["a", 1],
    ["a".repeat(64), 1],
    ["a".repeat(65), 2],
    ["*", 2],
    ["/", 3],
    [":", 4],
    ["\u007f\u0080é手", 1],
    ["a*b/c:d\n", 8],
  ])("is the cost of the characters of %j: %i", (body, cost) => {
    expect(parseCost(body)).toBe(cost);
  });
});

describe("the beginning of a body", () => {
  it.each([
    ["is the whole body if it fits", "abc", 3, 0, "abc"],
    ["is not longer than the body", "abc", 9, 9, "abc"],
    ["is cut at its length", "abcd", 3, 9, "abc"],
    ["has as many syntax characters as it may", "a*b*c*d", 9, 2, "a*b*c"],
    ["ends before a character that costs too much", "a:b:c", 9, 5, "a:b"],
    ["may have no syntax", "*a", 9, 0, ""],
  ])("%s", (_, body, maxLength, maxMarks, beginning) => {
    expect(beginningOf(body, maxLength, maxMarks)).toBe(beginning);
  });
});

describe("parsing", () => {
  const typesOf = (body: string) => new Set(parseMarkdown(body).map(({ type }) => type));
  /** A table with a header, its delimiters and rows of one cell. */
  const table = (columns: number, rows: number) =>
    ["|a".repeat(columns), "|-".repeat(columns), ...Array.from({ length: rows }, () => "|x")].join("\n");

  it.each([
    ["3,000 cells, with those that the edges make", 9, 298, true],
    ["more cells", 9, 299, false],
    ["many columns", 999, 1, true],
    ["too many columns", 1_000, 1, false],
  ])("reads a table with %s or not", (_, columns, rows, isTable) => {
    const body = table(columns, rows);
    expect(typesOf(body).has("table_open")).toBe(isTable);
    expect(parseWithEscapes(body).some(({ type }) => type === "table_open")).toBe(isTable);
  });

  it("keeps escaped characters apart only where that is asked for", () => {
    const childrenOf = (tokens: ReturnType<typeof parseMarkdown>) =>
      tokens.flatMap(({ children }) => children ?? []).map(({ type, content }) => `${type} ${content}`);
    expect(childrenOf(parseMarkdown("a \\* b"))).toEqual(["text a * b"]);
    expect(childrenOf(parseWithEscapes("a \\* b"))).toEqual(["text a ", "text_special *", "text  b"]);
  });

  it.each([
    ["http://a.example", true],
    ["https://a.example", true],
    ["mailto:a@b.example", true],
    ["/about", true],
    ["//a.example", false],
    ["about", false],
    ["javascript:a", false],
    ["x:https://a.example", false],
    ["x/about", false],
  ])("makes [a](%s) a link: %s", (address, isLink) => {
    const [, inline] = parseMarkdown(`[a](${address})`);
    // An address within the text may become a link by itself.
    expect(inline?.children?.some(({ type, markup }) => type === "link_open" && markup === "")).toBe(isLink);
  });

  it("makes only complete addresses links", () => {
    const links = (body: string) => parseMarkdown(body)[1]?.children?.filter(({ type }) => type === "link_open").length;
    expect(links("https://a.example and http://b.example/c")).toBe(2);
    expect(links("a.example a@b.example 192.0.2.1")).toBe(0);
    expect(links("[a]\n\n[a]: https://a.example")).toBe(0);
  });
});
