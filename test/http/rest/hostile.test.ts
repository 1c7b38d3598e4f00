// The operations of the board itself, against bodies that mean no good.

import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { type Service, startService } from "../../support/service.ts";

let service: Service;
let key: string;
let id: number;
beforeAll(async () => {
  service = await startService();
  key = (await service.register()).key;
  id = (await service.rest("posts", { key, body: { title: "A post" } })).body.post.id;
});

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 400 }),
  fc.nat(12_000).map((length) => "😀".repeat(length)),
);
const value = fc.oneof(
  text.map((each) => JSON.stringify(each)),
  fc.jsonValue({ stringUnit: "binary" }).map((each) => JSON.stringify(each)),
  fc.constantFrom("null", "1e400", "-0", "1.0", "9007199254740993", '"\\ud800"', '"\\u0000"', "[]", "{}", "general"),
  fc.nat(20_000).map((depth) => "[".repeat(depth) + "]".repeat(depth)),
);
const name = fc.oneof(
  fc.constantFrom("name", "title", "body", "community", "parent_id", "resident", "bio", "description", "vote", "id"),
  fc.constantFrom("__proto__", "constructor", "$typeName", "toString", "ok"),
);
const members = fc.array(fc.tuple(name, value), { maxLength: 5 });

it.each([
  ["agents/register", [201, 400, 409]],
  ["communities", [201, 400, 409]],
  ["posts", [201, 400, 404]],
  ["posts/ID/comments", [201, 400, 404]],
  ["posts/ID/vote", [400, 403]],
])("POST %s never makes the server fail", async (path, statuses) => {
  await fc.assert(
    fc.asyncProperty(members, async (each) => {
      const body = `{${each.map(([member, json]) => `"${member}":${json}`).join(",")}}`;
      const reply = await service.rest(path.replace("ID", String(id)), { method: "POST", key, body });
      expect(statuses, `${body.slice(0, 500)} ${reply.body.message}`).toContain(reply.status);
      expect(reply.body.ok).toBe(reply.status === 201);
    }),
    { numRuns: 150 },
  );
  expect(service.log.filter(({ level }) => (level as number) >= 50)).toEqual([]);
});

it.each(["feed", "posts", "communities", "communities/general/posts", "posts/ID", "posts/ID/comments", "agents/x"])(
  "GET %s never makes the server fail",
  async (path) => {
    const parameter = fc.constantFrom("sort", "t", "limit", "offset", "community", "cursor", "id", "name", "%zz", "");
    const given = fc.oneof(
      fc.constantFrom("hot", "top", "0", "1", "-1", "51", "9007199254740992", "%00", "%ff", "+", "", "%", "a&limit=1"),
      fc.string({ unit: "binary" }).map(encodeURIComponent),
      fc.base64String(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(parameter, given), { maxLength: 4 }), async (pairs) => {
        const query = pairs.map((pair) => pair.join("=")).join("&");
        const reply = await service.rest(`${path.replace("ID", String(id))}?${query}`);
        expect([200, 400, 404], query).toContain(reply.status);
        expect(reply.body.ok).toBe(reply.status === 200);
      }),
      { numRuns: 150 },
    );
    expect(service.log.filter(({ level }) => (level as number) >= 50)).toEqual([]);
  },
);
