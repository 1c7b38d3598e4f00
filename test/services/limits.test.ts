// Every limit of the seed, at its bounds and just beyond them, for every input of every endpoint.
import { beforeAll, describe, expect, it } from "vitest";
import { rowCounts } from "../support/recount.ts";
import { type Service, startService } from "../support/service.ts";

const astral = "𝒳";
const maxInt = Number.MAX_SAFE_INTEGER;

let service: Service;
let key: string;
let postId: number;
let commentId: number;
let serial = 0;

beforeAll(async () => {
  service = await startService();
  const { key: author } = await service.register();
  postId = (await service.rest("posts", { key: author, body: { title: "A post" } })).body.post.id;
  const comments = `posts/${postId}/comments`;
  commentId = (await service.rest(comments, { key: author, body: { body: "Comment" } })).body.comment.id;
  key = (await service.register()).key;
});

/** A value and, where it is long, what to call it. */
type Value = { is: unknown; called: string };

function value(is: unknown, called = is === undefined ? "nothing" : JSON.stringify(is)): Value {
  return { is, called };
}

function chars(character: string, count: number): Value {
  return value(character.repeat(count), `${count} × ${JSON.stringify(character)}`);
}

/** Texts of the least and the most code points, and of one less and one more. An astral character is one of them. */
function texts(least: number, most: number, good: Value[], bad: Value[]): { good: Value[]; bad: Value[] } {
  return {
    good: [least > 0 ? chars("a", least) : value(""), chars(astral, most), ...good],
    bad: [...(least > 0 ? [chars(astral, least - 1)] : []), chars("a", most + 1), chars(astral, most + 1), ...bad],
  };
}

const notText = [1, true, ["abc"], {}].map((each) => value(each));
const brokenText = [value("abc\ud800", "a lone high surrogate"), value("\udc00abc", "a lone low surrogate")];
const notInteger = ["1", "", 1.5, true, [], {}].map((each) => value(each));
const missing = [value(undefined), value(null)];
const absent = [value(null), value(undefined)];
/** A number as it is written in JSON. */
class Raw {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
}
const raw = (json: string) => value(new Raw(json), json);
const tooLarge = [raw("9007199254740992"), raw("1e16"), raw("18446744073709551616"), raw("1e400")];

function serialise(body: Record<string, unknown>): string {
  const members = Object.entries(body).flatMap(([name, member]) => {
    if (member === undefined) return [];
    return [`${JSON.stringify(name)}:${member instanceof Raw ? member.json : JSON.stringify(member)}`];
  });
  return `{${members.join(",")}}`;
}

interface Case {
  what: string;
  path: () => string;
  field: string;
  /** The other members, all good; fresh each time. */
  rest: () => Record<string, unknown>;
  good: Value[];
  bad: Value[];
  status: number;
  /** What the reply shows of the input. */
  echo?: (body: never) => unknown;
}

const register = { what: "registration", path: () => "agents/register", status: 201 };
const community = { what: "community", path: () => "communities", status: 201 };
const post = { what: "post", path: () => "posts", status: 201 };
const comment = { what: "comment", path: () => `posts/${postId}/comments`, status: 201 };
const freshAgent = () => ({ name: `fresh-${serial++}` });
const freshCommunity = () => ({ name: `fresh-${serial++}`, title: "Title" });

const called = (each: string) => value(each);

const bodies: Case[] = [
  {
    ...register,
    field: "name",
    rest: () => ({}),
    good: ["abc", "0-_", "Z__9", "b".repeat(32)].map(called),
    bad: [
      ...["", "ab", "a".repeat(33), "-abc", "_abc", "ab c", "abc\n", "ábc", "ab/c", "a\u0000bc"].map(called),
      ...notText,
      ...brokenText,
      ...missing,
    ],
    echo: (body: { agent: { name: string } }) => body.agent.name,
  },
  {
    ...register,
    field: "resident",
    rest: freshAgent,
    good: [value(1), value(maxInt), raw("1.0"), raw("1e2"), ...absent],
    bad: [value(0), value(-1), raw("-0"), ...tooLarge, ...notInteger],
    echo: (body: { agent: { resident: number | null } }) => body.agent.resident,
  },
  {
    ...register,
    field: "bio",
    rest: freshAgent,
    ...texts(0, 280, absent, [...notText, ...brokenText]),
    echo: (body: { agent: { bio: string } }) => body.agent.bio,
  },
  {
    ...community,
    field: "name",
    rest: () => ({ title: "Title" }),
    good: ["abc", "0-9", "a--b", "d".repeat(24)].map(called),
    bad: [
      ...["", "ab", "a".repeat(25), "-ab", "ab-", "a_b", "Abc", "a b", "abc\n", "ábc", "a.b"].map(called),
      ...missing,
    ],
    echo: (body: { community: { name: string } }) => body.community.name,
  },
  {
    ...community,
    field: "title",
    rest: () => ({ name: `fresh-${serial++}` }),
    ...texts(3, 60, [], missing),
    echo: (body: { community: { title: string } }) => body.community.title,
  },
  {
    ...community,
    field: "description",
    rest: freshCommunity,
    ...texts(0, 500, absent, notText),
    echo: (body: { community: { description: string } }) => body.community.description,
  },
  {
    ...post,
    field: "title",
    rest: () => ({}),
    // A character counts as one, whatever it is.
    ...texts(3, 300, [chars("é", 300), value(`${"\n".repeat(299)}x`)], [...notText, ...brokenText, ...missing]),
    echo: (body: { post: { title: string } }) => body.post.title,
  },
  {
    ...post,
    field: "body",
    rest: () => ({ title: "Title" }),
    ...texts(0, 10_000, absent, [...notText, ...brokenText]),
    echo: (body: { post: { body: string } }) => body.post.body,
  },
  {
    ...post,
    field: "community",
    rest: () => ({ title: "Title" }),
    good: [value("general"), ...absent],
    bad: [...notText, ...brokenText],
  },
  {
    ...comment,
    field: "body",
    rest: () => ({}),
    ...texts(1, 5_000, [], [...notText, ...brokenText, ...missing]),
    echo: (body: { comment: { body: string } }) => body.comment.body,
  },
  {
    ...comment,
    field: "parent_id",
    rest: () => ({ body: "Reply" }),
    good: absent,
    bad: [...tooLarge, ...notInteger],
  },
  {
    what: "vote",
    path: () => `posts/${postId}/vote`,
    status: 200,
    field: "vote",
    rest: () => ({}),
    good: [value(1), value(-1), value(0), raw("1.0"), raw("-0"), raw("10e-1")],
    bad: [value(2), value(-2), ...missing, raw("4294967297"), ...tooLarge, ...notInteger],
    echo: (body: { your_vote: number }) => body.your_vote,
  },
];

/** What is stored of a good value: numbers as numbers, absent text as "", other absent values as null. */
function stored(is: unknown, field: string): unknown {
  const absent = field === "resident" ? null : "";
  return is instanceof Raw ? Number(is.json) + 0 : (is ?? absent);
}

describe.each(bodies)("the $field of a $what", ({ path, field, rest, good, bad, status, echo }) => {
  it("is taken up to its bounds", async () => {
    for (const { is, called } of good) {
      const reply = await service.rest(path(), { key, body: serialise({ ...rest(), [field]: is }) });
      expect(reply, called).toMatchObject({ status, body: { ok: true } });
      if (echo) expect(echo(reply.body as never), called).toBe(stored(is, field));
    }
  });

  it("is refused beyond its bounds, and leaves no trace", async () => {
    const before = await rowCounts(service.db);
    for (const { is, called } of bad) {
      const reply = await service.rest(path(), { key, body: serialise({ ...rest(), [field]: is }) });
      expect(reply, called).toMatchObject({ status: 400, body: { ok: false, error: "bad_input", field } });
    }
    expect(await rowCounts(service.db)).toEqual(before);
  });
});

describe("a reply to a comment", () => {
  it("names the exact id of its parent, or is refused", async () => {
    const ask = (parent_id: unknown) =>
      service.rest(`posts/${postId}/comments`, { key, body: serialise({ body: "Reply", parent_id }) });
    expect((await ask(new Raw(`${commentId}.0`))).body.comment.parent_id).toBe(commentId);
    for (const unknown of [0, -1, commentId + 1_000_000, maxInt, -maxInt]) {
      const { status, body } = await ask(unknown);
      expect(status).toBe(404);
      expect(body).toMatchObject({ error: "not_found", field: "parent_id" });
    }
  });
});

describe("unknown properties", () => {
  it.each(["extra", "Name", "api_key", "__proto__", ""])("are refused in a registration: %s", async (property) => {
    const before = await rowCounts(service.db);
    const body = `{"name":"extra-${serial++}",${JSON.stringify(property)}:1}`;
    const reply = await service.rest("agents/register", { body });
    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ error: "bad_input", field: property });
    expect(await rowCounts(service.db)).toEqual(before);
  });

  it.each([
    ["communities", () => freshCommunity()],
    ["posts", () => ({ title: "Title" })],
    ["comments", () => ({ body: "Comment" })],
    ["vote", () => ({ vote: 1 })],
  ])("are ignored elsewhere: %s", async (kind, input) => {
    const path = kind === "comments" || kind === "vote" ? `posts/${postId}/${kind}` : kind;
    const body = { ...input(), extra: { deep: [1] }, Title: 5, id: postId + 1_000_000, author: "somebody" };
    const reply = await service.rest(path, { key, body });
    expect(reply.body).toMatchObject({ ok: true });
  });
});

describe("several faults", () => {
  it("are answered by the first: decoding before rules, then by the order of the contract", async () => {
    const ask = async (body: object) => (await service.rest("agents/register", { body })).body.field;
    expect(await ask({ name: "", resident: 0, bio: 5 })).toBe("bio");
    expect(await ask({ bio: 5, resident: "x", name: 1 })).toBe("name");
    expect(await ask({ bio: "b".repeat(281), resident: 0, name: "a" })).toBe("name");
    expect(await ask({ bio: "b".repeat(281), resident: 0, name: "abc" })).toBe("resident");
  });
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

async function expectRefused(path: string, field: string): Promise<void> {
  expect(await service.rest(path), path).toMatchObject({ status: 400, body: { ok: false, error: "bad_input", field } });
}

describe.each(["posts", "feed", "communities/general/posts"])("GET /%s", (path) => {
  it.each(Object.entries(feedParameters))("takes and refuses values of %s", async (parameter, { good, bad }) => {
    for (const text of good) {
      const { status, body } = await service.rest(`${path}?${parameter}=${encodeURIComponent(text)}`);
      expect(status, text).toBe(200);
      if (parameter === "sort") expect(body.sort).toBe(text);
      if (parameter === "limit" || parameter === "offset") expect(body[parameter]).toBe(Number(text));
    }
    for (const text of bad) await expectRefused(`${path}?${parameter}=${encodeURIComponent(text)}`, parameter);
    // Given twice, and with broken percent-encoding.
    await expectRefused(`${path}?${parameter}=${good[0]}&${parameter}=${good[0]}`, parameter);
    await expectRefused(`${path}?${parameter}=%zz`, parameter);
  });

  it("ignores parameters it does not know", async () => {
    expect((await service.rest(`${path}?page=x&page=y&Sort=none`)).status).toBe(200);
  });
});

it("GET /posts/{id}/comments takes limits from 1 to 1000", async () => {
  const path = `posts/${postId}/comments?limit=`;
  for (const text of ["1", "1000"]) expect((await service.rest(path + text)).status).toBe(200);
  for (const text of ["0", "1001", "-1", "1.0", "", "01"]) await expectRefused(path + text, "limit");
});

describe.each([
  ["GET", ""],
  ["GET", "/comments"],
  ["POST", "/upvote"],
  ["POST", "/downvote"],
  ["POST", "/vote"],
  ["POST", "/comments"],
])("the id of %s /posts/{id}%s", (method, suffix) => {
  const ask = (id: string) => {
    const body = suffix === "/vote" ? { vote: 1 } : { body: "Comment" };
    return service.rest(`posts/${id}${suffix}`, { key, method, ...(method === "POST" ? { body } : {}) });
  };

  it("is an integer from 1 to 2^53-1, without other spellings", async () => {
    expect([200, 201]).toContain((await ask(String(postId))).status);
    for (const id of ["0", "-1", "1.0", "01", "+1", "1e0", "abc", "1%20", "9007199254740992", "%F0%9D%92%B3"]) {
      expect(await ask(id), id).toMatchObject({
        status: 400,
        body: { ok: false, error: "bad_input", field: "id" },
      });
    }
    const { status, body } = await ask(String(maxInt));
    expect([status, body]).toEqual([404, { ok: false, error: "not_found", message: expect.any(String) }]);
  });
});
