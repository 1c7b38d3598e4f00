import { expect, it } from "vitest";
import { encodeInParts } from "../../src/transcoding/large-json.ts";

// A large reply with an empty list is rare, and tests of services have none.
it.each([
  { ok: true, posts: [], next: null },
  { ok: true, 'a "name"': [[1, [2]], null, "\u0001\u{1f600}\ud800", false], nested: { list: [1, 2, 3] } },
])("a large reply has the bytes of JSON.stringify: %j", (members) => {
  expect(encodeInParts(members).toString("utf8")).toBe(Buffer.from(JSON.stringify(members)).toString("utf8"));
});
