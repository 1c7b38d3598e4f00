// Every limit of the seed, at, below and above its bound, for every input of every endpoint.
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

/** Texts of `least` to `most` code points, whatever they are made of. */
function texts(least: number, most: number): { good: Value[]; bad: Value[] } {
  const long = ["a", astral, "é", " ", "\u0000"];
  return {
    good: long.flatMap((c) => [...(least > 0 ? [chars(c, least)] : [value("")]), chars(c, most - 1), chars(c, most)]),
    bad: long.flatMap((c) => [...(least > 1 ? [chars(c, least - 1)] : []), chars(c, most + 1)]),
  };
}

const notText = [1, 1.5, true, false, [], ["abc"], {}].map((each) => value(each));
const brokenText = [value("abc\ud800", "a lone high surrogate"), value("\udc00abc", "a lone low surrogate")];
const notInteger = ["1", "", 1.5, 1e-1, true, [], {}].map((each) => value(each));
const missing = [value(undefined), value(null), value("")];
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

const name = texts(3, 32);
const register = { path: () => "agents/register", status: 201 };
const community = { path: () => "communities", status: 201 };
const post = { path: () => "posts", status: 201 };
const comment = { path: () => `posts/${postId}/comments`, status: 201 };
const freshAgent = () => ({ name: `fresh-${serial++}` });
const freshCommunity = () => ({ name: `fresh-${serial++}`, title: "Title" });

const bodies: Case[] = [
  {
    ...register,
    field: "name",
    rest: () => ({}),
    good: ["abc", "0-_", "A--", "Z__9", "a".repeat(31), "b".repeat(32)].map((each) => value(each)),
    bad: [
      ...[
        "ab",
        "a".repeat(33),
        "-abc",
        "_abc",
        "ab c",
        " abc",
        "abc ",
        "abc\n",
        "ábc",
        "abc.",
        "ab/c",
        "a\u0000bc",
      ].map((each) => value(each)),
      ...name.bad,
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
    good: [value(1), value(2), value(maxInt), raw("1.0"), raw("1e2"), value(null), value(undefined)],
    bad: [value(0), value(-1), value(-maxInt), raw("-0"), ...tooLarge, ...notInteger],
    echo: (body: { agent: { resident: number | null } }) => body.agent.resident,
  },
  {
    ...register,
    field: "bio",
    rest: freshAgent,
    ...widened(texts(0, 280), [value(null), value(undefined)], [...notText, ...brokenText]),
    echo: (body: { agent: { bio: string } }) => body.agent.bio,
  },
  {
    ...community,
    field: "name",
    rest: () => ({ title: "Title" }),
    good: ["abc", "0-9", "a--b", "c".repeat(23), "d".repeat(24)].map((each) => value(each)),
    bad: [
      ...["ab", "a".repeat(25), "-ab", "ab-", "a_b", "Abc", "aBc", "a b", "abc ", " abc", "abc\n", "ábc", "a.b"].map(
        (each) => value(each),
      ),
      chars(astral, 3),
      chars(astral, 24),
      ...notText,
      ...brokenText,
      ...missing,
    ],
    echo: (body: { community: { name: string } }) => body.community.name,
  },
  {
    ...community,
    field: "title",
    rest: () => ({ name: `fresh-${serial++}` }),
    ...widened(texts(3, 60), [], [...notText, ...brokenText, ...missing]),
    echo: (body: { community: { title: string } }) => body.community.title,
  },
  {
    ...community,
    field: "description",
    rest: freshCommunity,
    ...widened(texts(0, 500), [value(null), value(undefined)], [...notText, ...brokenText]),
    echo: (body: { community: { description: string } }) => body.community.description,
  },
  {
    ...post,
    field: "title",
    rest: () => ({}),
    ...widened(texts(3, 300), [], [...notText, ...brokenText, ...missing]),
    echo: (body: { post: { title: string } }) => body.post.title,
  },
  {
    ...post,
    field: "body",
    rest: () => ({ title: "Title" }),
    ...widened(texts(0, 10_000), [value(null), value(undefined)], [...notText, ...brokenText]),
    echo: (body: { post: { body: string } }) => body.post.body,
  },
  {
    ...post,
    field: "community",
    rest: () => ({ title: "Title" }),
    good: [value("general"), value(null), value(undefined)],
    bad: [...notText, ...brokenText],
  },
  {
    ...comment,
    field: "body",
    rest: () => ({}),
    ...widened(texts(1, 5_000), [], [...notText, ...brokenText, ...missing]),
    echo: (body: { comment: { body: string } }) => body.comment.body,
  },
  {
    ...comment,
    field: "parent_id",
    rest: () => ({ body: "Reply" }),
    good: [value(null), value(undefined)],
    bad: [...tooLarge, ...notInteger],
  },
  {
    path: () => `posts/${postId}/vote`,
    status: 200,
    field: "vote",
    rest: () => ({}),
    good: [value(1), value(-1), value(0), raw("1.0"), raw("-1.0"), raw("1e0"), raw("-0"), raw("10e-1")],
    bad: [value(2), value(-2), value(undefined), value(null), raw("4294967297"), ...tooLarge, ...notInteger],
    echo: (body: { your_vote: number }) => body.your_vote,
  },
];

function widened(base: { good: Value[]; bad: Value[] }, good: Value[], bad: Value[]) {
  return { good: [...base.good, ...good], bad: [...base.bad, ...bad] };
}

/** What is stored of a good value: numbers as numbers, absent text as "", other absent values as null. */
function stored(is: unknown, field: string): unknown {
  const absent = field === "resident" ? null : "";
  return is instanceof Raw ? Number(is.json) + 0 : (is ?? absent);
}

describe.each(bodies)("$field of POST /$path", ({ path, field, rest, good, bad, status, echo }) => {
  it.each(good)("takes $called", async ({ is }) => {
    const body = serialise({ ...rest(), [field]: is });
    const reply = await service.rest(path(), { key, body });
    expect(reply.body).toMatchObject({ ok: true });
    expect(reply.status).toBe(status);
    if (echo) expect(echo(reply.body as never)).toBe(stored(is, field));
  });

  it.each(bad)("refuses $called, and leaves no trace", async ({ is }) => {
    const before = await rowCounts(service.db);
    const reply = await service.rest(path(), { key, body: serialise({ ...rest(), [field]: is }) });
    expect(reply.body).toMatchObject({ ok: false, error: "bad_input", field });
    expect(reply.status).toBe(400);
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
const limits = {
  feed: {
    good: ["1", "2", "49", "50"],
    bad: [
      "0",
      "51",
      "-1",
      "1.0",
      "1e1",
      "",
      "+1",
      "01",
      " 1",
      "1 ",
      "a",
      "0x1",
      "９",
      "NaN",
      "9007199254740992",
      "1e400",
    ],
  },
  comments: { good: ["1", "2", "999", "1000"], bad: ["0", "1001", "-1", "1.0", "", "+1", "01", "a"] },
};
const offsets = {
  good: ["0", "1", "1000", "9007199254740991"],
  bad: ["-1", "-0", "1.5", "", "00", "a", "9007199254740992", "99999999999999999999"],
};
const sorts = {
  good: ["hot", "new", "top"],
  bad: ["", "HOT", "hot ", "best", "unspecified", "0", "1", "FEED_SORT_HOT"],
};
const windows = {
  good: ["day", "week", "month", "year", "all"],
  bad: ["", "hour", "Day", "unspecified", "0", "1", "FEED_WINDOW_DAY"],
};
const feedParameters = { limit: limits.feed, offset: offsets, sort: sorts, t: windows };

describe.each(["posts", "feed", "communities/general/posts"])("GET /%s", (path) => {
  describe.each(Object.entries(feedParameters))("%s", (parameter, { good, bad }) => {
    it.each(good)("takes %s", async (text) => {
      const { status, body } = await service.rest(`${path}?${parameter}=${encodeURIComponent(text)}`);
      expect(status).toBe(200);
      if (parameter === "sort") expect(body.sort).toBe(text);
      if (parameter === "limit" || parameter === "offset") expect(body[parameter]).toBe(Number(text));
    });

    it.each(bad)("refuses '%s'", async (text) => {
      const { status, body } = await service.rest(`${path}?${parameter}=${encodeURIComponent(text)}`);
      expect(body).toMatchObject({ ok: false, error: "bad_input", field: parameter });
      expect(status).toBe(400);
    });

    it("is refused when it is given twice", async () => {
      const text = good[0] as string;
      const { status, body } = await service.rest(`${path}?${parameter}=${text}&${parameter}=${text}`);
      expect(body).toMatchObject({ error: "bad_input", field: parameter });
      expect(status).toBe(400);
    });

    it("is refused when its percent-encoding is broken", async () => {
      const { status, body } = await service.rest(`${path}?${parameter}=%zz`);
      expect(body).toMatchObject({ error: "bad_input", field: parameter });
      expect(status).toBe(400);
    });
  });

  it("ignores parameters it does not know", async () => {
    expect((await service.rest(`${path}?page=x&page=y&Sort=none`)).status).toBe(200);
  });
});

describe("GET /posts/{id}/comments", () => {
  it.each(limits.comments.good)("takes the limit %s", async (text) => {
    expect((await service.rest(`posts/${postId}/comments?limit=${text}`)).status).toBe(200);
  });

  it.each(limits.comments.bad)("refuses the limit '%s'", async (text) => {
    const { status, body } = await service.rest(`posts/${postId}/comments?limit=${encodeURIComponent(text)}`);
    expect(body).toMatchObject({ error: "bad_input", field: "limit" });
    expect(status).toBe(400);
  });
});

const idPaths = ["", "/comments", "/upvote", "/downvote", "/vote", "/comments "] as const;

describe.each(idPaths)("the id of /posts/{id}%s", (suffix) => {
  /** The path with a trailing space stands for the POST to comments. */
  const ask = (id: string) => {
    const path = `posts/${id}${suffix.trim()}`;
    if (suffix === "" || suffix === "/comments") return service.rest(path, { key });
    return service.rest(path, { key, body: suffix === "/vote" ? { vote: 1 } : { body: "Comment" } });
  };

  it("takes 1", async () => {
    expect(postId).toBe(1);
    const { status } = await ask("1");
    expect([200, 201]).toContain(status);
  });

  it.each([
    "0",
    "-1",
    "1.0",
    "01",
    "+1",
    "1e0",
    "abc",
    "%20",
    "1%20",
    "9007199254740992",
    "99999999999999999999",
    "%F0%9D%92%B3",
  ])("refuses %s", async (id) => {
    const { status, body } = await ask(id);
    expect(body).toMatchObject({ ok: false, error: "bad_input", field: "id" });
    expect(status).toBe(400);
  });

  it("finds nothing at the largest integer", async () => {
    const { status, body } = await ask("9007199254740991");
    expect(status).toBe(404);
    expect(body).toEqual({ ok: false, error: "not_found", message: expect.any(String) });
  });
});
