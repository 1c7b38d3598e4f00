import { describe, expect, it } from "vitest";
import { encodeInParts } from "../../src/transcoding/large-json.ts";

describe("encodeInParts", () => {
  it.each([
    { ok: true },
    { ok: true, posts: [], next: null },
    {
      ok: true,
      posts: [{ title: "\u0001\u{1f600}\ud800", score: -1, author: { name: "ä" } }, { title: "" }],
      count: 2,
    },
    { ok: true, 'a "name"': [[1, [2]], null, "x", false], nested: { list: [1, 2, 3] } },
  ])("returns the same bytes as JSON.stringify: %j", (members) => {
    expect(encodeInParts(members).toString("utf8")).toBe(Buffer.from(JSON.stringify(members)).toString("utf8"));
  });
});
