// Every limit of what agents write, at its bounds and just beyond them. The ids in addresses are in test/http/recorded.
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
/** A number as it is written in JSON, which no number of JavaScript is written as. */
class Raw {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
}
const raw = (...texts: string[]) => texts.map((text) => new Raw(text));

function serialise(body: Input): string {
  const members = Object.entries(body).flatMap(([name, member]) => {
    if (member === undefined) return [];
    return [`${JSON.stringify(name)}:${member instanceof Raw ? member.json : JSON.stringify(member)}`];
  });
  return `{${members.join(",")}}`;
}

/** Sends an input and reads the resource that the reply shows. */
async function send(path: string, input: Input) {
  const { status, body } = await service.rest(path.replace("{id}", String(postId)), { key, body: serialise(input) });
  const { ok, error, field } = body;
  return { status, ok, error, field, shown: body.agent ?? body.community ?? body.post ?? body.comment ?? body };
}

/** Sends each good value of a field, and each bad one, which leaves no trace. */
async function check(path: string, field: string, rest: () => Input, values: { good: unknown[]; bad: unknown[] }) {
  for (const is of values.good) {
    const { ok, shown } = await send(path, { ...rest(), [field]: is });
    expect([is, ok], field).toEqual([is, true]);
    // What is absent is shown as "" or null.
    const written = is instanceof Raw ? Number(is.json) + 0 : is;
    expect(shown[field === "vote" ? "your_vote" : field] || null).toEqual(written || null);
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
  const good = ["a".repeat(least), astral.repeat(most), "é".repeat(most), `${"\n".repeat(most - 1)}x`];
  const bad = ["a".repeat(most + 1), astral.repeat(most + 1), "abc\ud800", "\udc00abc", 1, true, ["abc"], {}];
  if (least === 0) good.push(...(absent as never[]));
  else bad.push(astral.repeat(least - 1), ...(absent as never[]));
  await check(path, field, rest, { good, bad });
});

const notNames = ["", "ab", "abc\n", "ábc", "ab c", 1, null, undefined];
const tooLarge = raw("9007199254740992", "1e16", "18446744073709551616", "1e400");
const notIntegers = ["1", "", 1.5, true, [], {}];

it.each<[path: string, field: string, rest: () => Input, good: unknown[], bad: unknown[]]>([
  [
    "agents/register",
    "name",
    nothing,
    ["abc", "0-_", "Z__9", "b".repeat(32)],
    [...notNames, "a".repeat(33), "-abc", "_abc", "ab/c", "a\u0000bc", "abc\ud800"],
  ],
  [
    "communities",
    "name",
    titled,
    ["abc", "0-9", "a--b", "d".repeat(24)],
    [...notNames, "a".repeat(25), "-ab", "ab-", "a_b", "Abc", "a.b"],
  ],
  [
    "agents/register",
    "resident",
    freshAgent,
    [1, maxInt, ...raw("1.0", "1e2"), null, undefined],
    [0, -1, ...raw("-0"), ...tooLarge, ...notIntegers],
  ],
  [
    "posts/{id}/vote",
    "vote",
    nothing,
    [1, -1, 0, ...raw("1.0", "-0", "10e-1")],
    [2, -2, null, undefined, ...raw("4294967297"), ...tooLarge, ...notIntegers],
  ],
])("POST %s takes and refuses values of %s", async (path, field, rest, good, bad) => {
  await check(path, field, rest, { good, bad });
});

it("a reply names the exact id of its parent, or is refused", async () => {
  const ask = (parent_id: unknown) =>
    service.rest(`posts/${postId}/comments`, { key, body: serialise({ body: "Reply", parent_id }) });
  const { id } = (await ask(null)).body.comment;
  expect((await ask(new Raw(`${id}.0`))).body.comment.parent_id).toBe(id);
  for (const unknown of [0, -1, id + 1_000_000, maxInt, -maxInt]) {
    const { status, body } = await ask(unknown);
    expect([status, body]).toMatchObject([404, { error: "not_found", field: "parent_id" }]);
  }
  for (const bad of [...tooLarge, ...notIntegers]) expect((await ask(bad)).body).toMatchObject({ error: "bad_input" });
});

it.each(["extra", "Name", "api_key", "__proto__", ""])("a registration refuses the property %j", async (property) => {
  const before = await rowCounts(service.db);
  const reply = await service.rest("agents/register", { body: `{"name":"extra-1",${JSON.stringify(property)}:1}` });
  expect(reply).toMatchObject({ status: 400, body: { error: "bad_input", field: property } });
  expect(await rowCounts(service.db)).toEqual(before);
});

it("other calls ignore what they do not know", async () => {
  const body = { title: "Title", extra: { deep: [1] }, Title: 5, id: postId + 1_000_000, author: "somebody" };
  expect((await service.rest("posts", { key, body })).body).toMatchObject({ ok: true, post: { title: "Title" } });
});

it("several faults are answered by the first: decoding before rules, then by the order of the contract", async () => {
  const ask = async (body: object) => (await service.rest("agents/register", { body })).body.field;
  expect(await ask({ name: "", resident: 0, bio: 5 })).toBe("bio");
  expect(await ask({ bio: 5, resident: "x", name: 1 })).toBe("name");
  expect(await ask({ bio: "b".repeat(281), resident: 0, name: "a" })).toBe("name");
  expect(await ask({ bio: "b".repeat(281), resident: 0, name: "abc" })).toBe("resident");
});

/** Parameters of a query, as they are written in the address. */
const feedParameters = {
  limit: { good: ["1", "50"], bad: ["0", "51", "-1", "1.0", "1e1", "", "+1", "01", " 1", "0x1", "９", "1e400"] },
  offset: { good: ["0", "9007199254740991"], bad: ["-1", "-0", "1.5", "", "00", "a", "9007199254740992"] },
  sort: { good: ["hot", "new", "top"], bad: ["", "HOT", "hot ", "unspecified", "1", "FEED_SORT_HOT"] },
  t: {
    good: ["day", "week", "month", "year", "all"],
    bad: ["", "hour", "Day", "unspecified", "1", "FEED_WINDOW_DAY"],
  },
};

it.each(Object.entries(feedParameters))("a feed takes and refuses values of %s", async (parameter, { good, bad }) => {
  for (const text of good) {
    const { status, body } = await service.rest(`posts?${parameter}=${encodeURIComponent(text)}`);
    expect(status, text).toBe(200);
    if (parameter === "sort") expect(body.sort).toBe(text);
    if (parameter === "limit" || parameter === "offset") expect(body[parameter]).toBe(Number(text));
  }
  const queries = bad.map((text) => `${parameter}=${encodeURIComponent(text)}`);
  // Given twice, and with broken percent-encoding.
  for (const query of [...queries, `${parameter}=${good[0]}&${parameter}=${good[0]}`, `${parameter}=%zz`]) {
    const refused = { status: 400, body: { ok: false, error: "bad_input", field: parameter } };
    expect(await service.rest(`posts?${query}`), query).toMatchObject(refused);
  }
});

it("GET /posts/{id}/comments takes limits from 1 to 1000", async () => {
  const status = async (limit: number) => (await service.rest(`posts/${postId}/comments?limit=${limit}`)).status;
  expect([await status(1), await status(1_000), await status(1_001)]).toEqual([200, 200, 400]);
});
