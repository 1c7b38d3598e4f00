import { expect, it } from "vitest";
import { parseHead } from "../../src/receipt/head-text.ts";

const hash = "0123456789abcdef".repeat(4);
const text = (members: object) => JSON.stringify({ seq: 7, hash, ...members });

it("parseHead gives the seq, the hash and every other member", () => {
  expect(parseHead(text({}))).toEqual({ seq: 7, hash });
  expect(parseHead(` ${text({ service: "https://example.org", list: [1, null], at: { ms: 5 } })}\n`)).toEqual({
    seq: 7,
    hash,
    service: "https://example.org",
    list: [1, null],
    at: { ms: 5 },
  });
});

it.each([1, 2 ** 53 - 1])("parseHead accepts the seq %d", (seq) => {
  expect(parseHead(text({ seq }))).toEqual({ seq, hash });
});

it.each([0, -1, 1.5, 2 ** 53, 1e300, "7", null, true, [7], {}])("parseHead refuses the seq %j", (seq) => {
  expect(parseHead(text({ seq }))).toBeUndefined();
});

it.each(["", hash.slice(1), `${hash}0`, hash.toUpperCase(), `g${hash.slice(1)}`, ` ${hash.slice(1)}`, 7, null, [hash]])(
  "parseHead refuses the hash %j",
  (each) => {
    expect(parseHead(text({ hash: each }))).toBeUndefined();
  },
);

it.each([
  "",
  "{",
  "seq 7",
  "null",
  "7",
  '"text"',
  "true",
  "[]",
  "{}",
  `{"seq":7}`,
  `{"hash":"${hash}"}`,
  `[7,"${hash}"]`,
])("parseHead refuses the text %j", (each) => {
  expect(parseHead(each)).toBeUndefined();
});
