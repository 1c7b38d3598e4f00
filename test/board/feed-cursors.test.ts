// Paging by cursor shows each post once while posts are added. Cursors of other feeds and forged cursors are refused.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 0, 10, 12);

let now = start;

const service = await startService({ overrides: { now: () => now } });
const { key } = await service.register();
await service.rest("communities", { key, body: { name: "other", title: "Other" } });
// There are many ties: scores from -2 to 2, and three posts at each time.
for (let i = 0; i < 60; i++)
  await post(start + Math.floor(i / 3) * 60_000, (i % 5) - 2, i % 2 === 0 ? "general" : "other");
now = start + day;

async function post(at: number, score: number, community: string): Promise<number> {
  const before = now;
  now = at;
  const { body } = await service.rest("posts", { key, body: { title: "A post", community } });
  now = before;
  await service.db.pool.query("UPDATE posts SET upvotes = 3, downvotes = ? WHERE id = ?", [3 - score, body.post.id]);
  return body.post.id;
}

interface Page {
  posts: { id: number }[];
  next_cursor: string | null;
  next_offset: number | null;
  offset: number;
}

async function read(path: string): Promise<Page> {
  const { status, body } = await service.rest(path);
  expect(body).toMatchObject({ ok: true });
  expect(status).toBe(200);
  return body;
}

// Every order, the shortest and the longest window, and every place.
const feeds = [
  "posts?sort=hot",
  "posts?sort=new",
  "posts?sort=top",
  "posts?sort=top&t=day",
  "posts?community=other&sort=hot",
  "communities/other/posts?sort=top&t=year",
];

describe.each(feeds)("the feed %s", (feed) => {
  it("shows each post once, in order, while posts are added between the pages", async () => {
    const within = now;
    const { posts, next_offset } = await read(`${feed}&limit=50`);
    const more = next_offset === null ? [] : (await read(`${feed}&limit=50&offset=50`)).posts;
    const expected = [...posts, ...more].map(({ id }) => id);
    // All pages are full.
    const limit = expected.length / 3;
    expect(limit).toBeGreaterThanOrEqual(10);
    const seen: number[] = [];
    const added = new Set<number>();
    let cursor: string | null | undefined;
    for (let page = 0; cursor !== null; page++) {
      const shown: Page = await read(`${feed}&limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`);
      seen.push(...shown.posts.map(({ id }) => id));
      expect(shown.offset).toBe(0);
      if (cursor !== undefined) expect(shown.next_offset).toBe(null);
      cursor = shown.next_cursor;
      // Time passes beyond the window of a day. The first page fixes the window's start for a day.
      now += 4 * hour;
      for (const score of [-1, 0, 3]) added.add(await post(now, score, page % 2 === 0 ? "other" : "general"));
    }
    expect(seen.filter((id) => !added.has(id))).toEqual(expected);
    expect(new Set(seen).size).toBe(seen.length);
    // The next test expects the original posts and time.
    await service.db.pool.query("DELETE FROM posts WHERE id IN (?)", [[...added]]);
    now = within;
  });

  it("has no next cursor on its last page, not even when it is full", async () => {
    const count = (await read(`${feed}&limit=50`)).posts.length;
    const total = count === 50 ? 60 : count;
    const half = await read(`${feed}&limit=${total / 2}`);
    const last = await read(`${feed}&limit=${total / 2}&cursor=${half.next_cursor}`);
    expect(last).toMatchObject({ count: total / 2, next_cursor: null, next_offset: null });
  });
});

it("votes between the pages do not end the paging", async () => {
  const first = await read("posts?sort=top&limit=20");
  const last = first.posts.at(-1)?.id as number;
  const [row] = await service.db.rows<{ downvotes: number }>("SELECT downvotes FROM posts WHERE id = ?", [last]);
  await service.db.pool.query("UPDATE posts SET downvotes = 50 WHERE id = ?", [last]);
  const second = await read(`posts?sort=top&limit=50&cursor=${first.next_cursor}`);
  expect(second.posts.at(-1)?.id).toBe(last);
  expect(second.posts).toHaveLength(41);
  await service.db.pool.query("UPDATE posts SET downvotes = ? WHERE id = ?", [row?.downvotes, last]);
});

const base64url = (text: string) => Buffer.from(text).toString("base64url");

async function expectRefused(path: string): Promise<void> {
  const { status, body } = await service.rest(path);
  expect(body, path).toMatchObject({ ok: false, error: "bad_input", field: "cursor" });
  expect(status, path).toBe(400);
}

describe("a cursor", () => {
  const cursorOf = async (path: string) => (await read(path)).next_cursor as string;

  it("is refused together with an offset, even 0", async () => {
    const cursor = await cursorOf("posts?limit=5");
    for (const offset of [0, 5]) await expectRefused(`posts?limit=5&cursor=${cursor}&offset=${offset}`);
  });

  it("is refused by every other feed", async () => {
    // Each differs from the next one in order, window or place.
    const names = [
      "posts?sort=new&limit=5",
      "posts?sort=hot&limit=5",
      "posts?sort=hot&limit=5&community=other",
      "posts?sort=hot&limit=5&community=general",
      "posts?sort=top&limit=5&t=day",
      "posts?sort=top&limit=5&t=week",
      "posts?sort=top&limit=5",
    ];
    for (const [index, name] of names.entries()) {
      const cursor = await cursorOf(name);
      await read(`${name}&cursor=${cursor}`);
      for (const other of [names.at(index - 1), names[index + 1] ?? names[0]]) {
        await expectRefused(`${other}&cursor=${cursor}`);
      }
    }
  });

  it("is accepted at both addresses of its feed and with other page sizes", async () => {
    const cursor = await cursorOf("posts?sort=new&limit=5&community=other");
    const shared = await read(`communities/other/posts?sort=new&limit=9&cursor=${cursor}`);
    expect(shared.posts[0]).toEqual((await read("posts?sort=new&community=other&limit=1&offset=5")).posts[0]);
    const everywhere = await cursorOf("feed?limit=5");
    await read(`posts?limit=5&t=week&cursor=${everywhere}`);
  });

  it("is refused by lists of another kind: feeds, communities, comments", async () => {
    const feed = await cursorOf("posts?limit=5");
    const [first] = (await read("posts?limit=1")).posts;
    const comments = base64url(JSON.stringify(["comments", first?.id, 1, 1]));
    const communities = base64url(JSON.stringify(["communities", "general"]));
    for (const cursor of [comments, communities]) await expectRefused(`posts?cursor=${cursor}`);
    for (const cursor of [feed, comments]) await expectRefused(`communities?cursor=${cursor}`);
    for (const cursor of [feed, communities]) await expectRefused(`posts/${first?.id}/comments?cursor=${cursor}`);
    await read(`posts/${first?.id}/comments?cursor=${comments}`);
  });

  it("never causes a server error, however it is forged", async () => {
    const paths = ["posts?sort=hot", "posts?sort=new&community=other", "posts?sort=top", "posts?sort=top&t=month"];
    const cursors = await Promise.all(paths.map((path) => cursorOf(`${path}&limit=5`)));
    const number = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double(), fc.constantFrom(-0, Number.MAX_VALUE));
    const scalar = fc.oneof(number, fc.string(), fc.constant(null), fc.boolean(), fc.jsonValue());
    const forged = fc.record({
      feed: fc.nat(paths.length - 1),
      changes: fc.array(fc.tuple(fc.nat(8), fc.oneof(number, scalar)), { minLength: 1, maxLength: 3 }),
    });
    const expectFine = async (feed: number, cursor: string) => {
      const { status, body } = await service.rest(`${paths[feed]}&cursor=${cursor}`);
      if (status !== 200) expect([status, body.error, body.field]).toEqual([400, "bad_input", "cursor"]);
    };
    await fc.assert(
      fc.asyncProperty(forged, async ({ feed, changes }) => {
        const values: unknown[] = JSON.parse(Buffer.from(cursors[feed] as string, "base64url").toString());
        for (const [index, value] of changes) values[index] = value;
        await expectFine(feed, base64url(JSON.stringify(values)));
      }),
      { numRuns: 50 },
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(255), fc.nat(paths.length - 1), async (at, byte, feed) => {
        const bytes = Buffer.from(cursors[feed] as string, "base64url");
        bytes[at % bytes.length] = byte;
        await expectFine(feed, bytes.toString("base64url"));
      }),
      { numRuns: 50 },
    );
  });
});
