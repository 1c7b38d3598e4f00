// The orders of feeds, their windows, and paging by offset.
import { describe, expect, it } from "vitest";
import { hotOf } from "../support/recount.ts";
import { startService } from "../support/service.ts";

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 0, 10, 12);

interface Shown {
  id: number;
  title: string;
  score: number;
  community: string;
  created_at: string;
}

let now = start;

/** Creates a post at the time `at` and sets its votes. */
async function post(at: number, upvotes: number, downvotes: number, community = "general"): Promise<number> {
  now = at;
  const title = `Post of ${new Date(at).toISOString()}`;
  const { body } = await service.rest("posts", { key, body: { title, community } });
  const set = "UPDATE posts SET upvotes = ?, downvotes = ? WHERE id = ?";
  await service.db.pool.query(set, [upvotes, downvotes, body.post.id]);
  return body.post.id;
}

async function read(path: string): Promise<{ posts: Shown[]; next_offset: number | null; count: number }> {
  const { status, body } = await service.rest(path);
  expect(status).toBe(200);
  expect(body.count).toBe(body.posts.length);
  return body;
}

const ids = (posts: Shown[]) => posts.map(({ id }) => id);

const service = await startService({ overrides: { now: () => now } });
const { key } = await service.register();
await service.rest("communities", { key, body: { name: "small", title: "Small" } });
const scores = [0, 1, -1, 10, -10, 100, -100, 1000, 3, -3, 0, 2, 2, 2, -2, 50, 0, 1];
for (const [i, score] of scores.entries()) {
  const downvotes = score < 0 ? 5 - score : 5;
  // The posts are not created in the order of time, and some have the same time.
  const at = start + ((i * 7) % 9) * 3 * hour;
  await post(at, downvotes + score, downvotes, i % 3 === 0 ? "small" : "general");
}
now = start + 2 * day;
/** All posts as the service shows them. */
const all: Shown[] = (await read("posts?sort=new&limit=50")).posts;
expect(all).toHaveLength(scores.length);

const orders: Record<string, (a: Shown, b: Shown) => number> = {
  hot: (a, b) => {
    const difference = hotOf(b.score, Date.parse(b.created_at)) - hotOf(a.score, Date.parse(a.created_at));
    return Math.abs(difference) < 1e-9 ? b.id - a.id : difference;
  },
  new: (a, b) => Date.parse(b.created_at) - Date.parse(a.created_at) || b.id - a.id,
  top: (a, b) => b.score - a.score || Date.parse(b.created_at) - Date.parse(a.created_at) || b.id - a.id,
};

describe.each(Object.entries(orders))("the order %s", (sort, compare) => {
  it("follows its formula, with ties by id", async () => {
    expect(ids((await read(`posts?sort=${sort}&limit=50`)).posts)).toEqual(ids(all.toSorted(compare)));
  });

  it("is the same within a community, at both of its addresses", async () => {
    const community = "small";
    const expected = ids(all.filter((each) => each.community === community).toSorted(compare));
    expect(expected.length).toBeGreaterThan(4);
    expect(ids((await read(`communities/${community}/posts?sort=${sort}&limit=50`)).posts)).toEqual(expected);
    expect(ids((await read(`posts?community=${community}&sort=${sort}&limit=50`)).posts)).toEqual(expected);
  });

  it("has pages by offset, and the last page has no next offset", async () => {
    const expected = ids(all.toSorted(compare));
    for (const limit of [6, 18, 19]) {
      const seen: number[] = [];
      for (let offset: number | null = 0; offset !== null; ) {
        const page = await read(`posts?sort=${sort}&limit=${limit}&offset=${offset}`);
        seen.push(...ids(page.posts));
        const last = offset + limit >= expected.length;
        expect(page.next_offset).toBe(last ? null : offset + limit);
        offset = page.next_offset;
      }
      expect(seen).toEqual(expected);
    }
  });
});

it("the window of top begins exactly at its length before now, is `all` by default, and does not apply to others", async () => {
  const windows = { day, week: 7 * day, month: 30 * day, year: 365 * day };
  const end = Date.UTC(2030, 5, 1, 3, 4, 5, 678);
  const place = "communities/windows/posts";
  await service.rest("communities", { key, body: { name: "windows", title: "Windows" } });
  const created: { id: number; at: number }[] = [];
  for (const length of Object.values(windows)) {
    for (const at of [end - length - 1, end - length]) created.push({ id: await post(at, 5, 0, "windows"), at });
  }
  for (const [name, length] of Object.entries(windows)) {
    for (now of [end, end + 1]) {
      const inside = created.filter(({ at }) => at >= now - length).map(({ id }) => id);
      expect(ids((await read(`${place}?sort=top&t=${name}`)).posts).sort()).toEqual(inside.sort());
    }
  }
  for (const path of ["sort=top", "sort=top&t=all", "sort=hot&t=day", "sort=new&t=day"]) {
    expect((await read(`${place}?${path}`)).count, path).toBe(created.length);
  }
});

describe("an offset after the last post", () => {
  it.each(["posts?sort=hot", "communities/general/posts?sort=top&t=day"])("gives an empty page: %s", async (path) => {
    const { status, body } = await service.rest(`${path}&offset=9007199254740991&limit=7`);
    expect(status).toBe(200);
    const empty = { count: 0, posts: [], next_offset: null, next_cursor: null, limit: 7, offset: 9007199254740991 };
    expect(body).toMatchObject(empty);
  });

  it("gives not_found in a missing community", async () => {
    const { status } = await service.rest("communities/nowhere/posts?offset=9007199254740991");
    expect(status).toBe(404);
  });
});
