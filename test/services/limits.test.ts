// Every limit of what agents write, at its bounds and just beyond them. test/transcoding has how a value may be written, and
// test/http/recorded the ids in addresses.
import { expect, it } from "vitest";
import { rowCounts } from "../support/recount.ts";
import { startService } from "../support/service.ts";

const astral = "𝒳";
const maxInt = Number.MAX_SAFE_INTEGER;

let serial = 0;

const service = await startService();
const { key: author } = await service.register();
const postId: number = (await service.rest("posts", { key: author, body: { title: "A post" } })).body.post.id;
const { key } = await service.register();

type Input = Record<string, unknown>;

/** Sends an input and reads the resource that the reply shows. */
async function send(path: string, input: Input) {
  const { status, body } = await service.rest(path.replace("{id}", String(postId)), { key, body: input });
  const { ok, error, field } = body;
  return { status, ok, error, field, shown: body.agent ?? body.community ?? body.post ?? body.comment ?? body };
}

/** Sends each good value of a field, and each bad one, which leaves no trace. */
async function check(path: string, field: string, rest: () => Input, values: { good: unknown[]; bad: unknown[] }) {
  for (const is of values.good) {
    const { ok, shown } = await send(path, { ...rest(), [field]: is });
    expect([is, ok], field).toEqual([is, true]);
    // What is absent is shown as "" or null.
    expect(shown[field === "vote" ? "your_vote" : field] || null).toEqual(is || null);
  }
  const before = await rowCounts(service.db);
  for (const is of values.bad) {
    const { status, ok, error, field: named } = await send(path, { ...rest(), [field]: is });
    expect([is, status, ok, error, named]).toEqual([is, 400, false, "bad_input", field]);
  }
  expect(await rowCounts(service.db)).toEqual(before);
}

const freshAgent = () => ({ name: `fresh-${serial++}` });
const freshCommunity = () => ({ name: `fresh-${serial++}`, title: "Title" });
const titled = () => ({ title: "Title" });
const nothing = () => ({});

// A character counts as one, whatever it is: an astral one is two code units.
it.each<[path: string, field: string, least: number, most: number, rest: () => Input]>([
  ["agents/register", "bio", 0, 280, freshAgent],
  ["communities", "title", 3, 60, freshCommunity],
  ["communities", "description", 0, 500, freshCommunity],
  ["posts", "title", 3, 300, nothing],
  ["posts", "body", 0, 10_000, titled],
  ["posts/{id}/comments", "body", 1, 5_000, nothing],
])("POST %s takes a %s of %i to %i characters", async (path, field, least, most, rest) => {
  const absent = [null, undefined];
  const good = ["a".repeat(least), astral.repeat(most)];
  const bad = ["a".repeat(most + 1), astral.repeat(most + 1)];
  if (least === 0) good.push(...(absent as never[]));
  else bad.push(astral.repeat(least - 1), ...(absent as never[]));
  await check(path, field, rest, { good, bad });
});

const notNames = ["", "ab", "abc\n", "ábc", "ab c", null, undefined];

it.each<[path: string, field: string, rest: () => Input, good: unknown[], bad: unknown[]]>([
  [
    "agents/register",
    "name",
    nothing,
    ["abc", "0-_", "Z__9", "b".repeat(32)],
    [...notNames, "a".repeat(33), "-abc", "_abc", "ab/c", "a\u0000bc"],
  ],
  [
    "communities",
    "name",
    titled,
    ["abc", "0-9", "a--b", "d".repeat(24)],
    [...notNames, "a".repeat(25), "-ab", "ab-", "a_b", "Abc", "a.b"],
  ],
  ["agents/register", "resident", freshAgent, [1, maxInt, null, undefined], [0, -1, maxInt + 1]],
  ["posts/{id}/vote", "vote", nothing, [1, -1, 0], [2, -2, null, undefined]],
])("POST %s takes and refuses values of %s", async (path, field, rest, good, bad) => {
  await check(path, field, rest, { good, bad });
});

it("a reply names the id of its parent, or is refused", async () => {
  const ask = (parent_id: unknown) =>
    service.rest(`posts/${postId}/comments`, { key, body: { body: "Reply", parent_id } });
  const { id } = (await ask(null)).body.comment;
  expect((await ask(id)).body.comment.parent_id).toBe(id);
  for (const unknown of [0, -1, id + 1_000_000, maxInt, -maxInt]) {
    const { status, body } = await ask(unknown);
    expect([status, body]).toMatchObject([404, { error: "not_found", field: "parent_id" }]);
  }
});

it.each(["extra", "Name", "__proto__", ""])("a registration refuses the property %j", async (property) => {
  const before = await rowCounts(service.db);
  const reply = await service.rest("agents/register", { body: `{"name":"extra-1",${JSON.stringify(property)}:1}` });
  expect(reply).toMatchObject({ status: 400, body: { error: "bad_input", field: property } });
  expect(await rowCounts(service.db)).toEqual(before);
});

it.each([
  ["limit", [1, 50], [0, 51]],
  ["offset", [0, maxInt], [-1, maxInt + 1]],
  ["sort", ["hot", "new", "top"], ["best"]],
  ["t", ["day", "week", "month", "year", "all"], ["hour"]],
])("a feed takes and refuses values of %s", async (parameter, good, bad) => {
  for (const value of good) {
    const { status, body } = await service.rest(`posts?${parameter}=${value}`);
    expect([value, status]).toEqual([value, 200]);
    if (parameter !== "t") expect(body[parameter]).toBe(value);
  }
  for (const value of bad) {
    const refused = { status: 400, body: { ok: false, error: "bad_input", field: parameter } };
    expect(await service.rest(`posts?${parameter}=${value}`)).toMatchObject(refused);
  }
});

it("GET /posts/{id}/comments takes limits from 1 to 1000", async () => {
  const status = async (limit: number) => (await service.rest(`posts/${postId}/comments?limit=${limit}`)).status;
  expect([await status(0), await status(1), await status(1_000), await status(1_001)]).toEqual([400, 200, 200, 400]);
});
