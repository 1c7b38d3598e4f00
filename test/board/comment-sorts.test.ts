// The orders of a post's comments: each by cursor, with removed comments in their places, also while agents vote.
import { beforeAll, describe, expect, it } from "vitest";
import { type Agent, type Moderated, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";

interface Comment {
  id: number;
  score: number;
  removed: object | null;
}

let service: Moderated;
let author: Agent;
let voters: Agent[];

beforeAll(async () => {
  service = await startModerated();
  author = await service.register();
  voters = await Promise.all(Array.from({ length: 4 }, () => service.register()));
});

/** Creates a post with comments of these scores. */
async function createThread(scores: readonly number[]): Promise<{ post: number; ids: number[] }> {
  const post = await service.post(author);
  const ids: number[] = [];
  for (const score of scores) {
    const id = await service.comment(author, post);
    ids.push(id);
    for (const { key } of voters.slice(0, Math.abs(score))) {
      await service.rest(`comments/${id}/vote`, { key, body: { vote: Math.sign(score) } });
    }
  }
  return { post, ids };
}

async function pages(post: number, sort: string | undefined, limit?: number): Promise<Comment[][]> {
  const all: Comment[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = new URLSearchParams();
    if (sort !== undefined) query.set("sort", sort);
    if (limit !== undefined) query.set("limit", String(limit));
    if (cursor !== undefined) query.set("cursor", cursor);
    const { status, body } = await service.rest(`posts/${post}/comments?${query}`);
    expect(status).toBe(200);
    all.push(body.comments);
    cursor = body.next_cursor;
  }
  return all;
}

const idsOf = (comments: Comment[]) => comments.map(({ id }) => id);

/** The ids in the order `sort`, by the definition. */
function ordered(comments: Comment[], sort: string): number[] {
  const by: Record<string, (a: Comment, b: Comment) => number> = {
    old: (a, b) => a.id - b.id,
    new: (a, b) => b.id - a.id,
    top: (a, b) => b.score - a.score || b.id - a.id,
  };
  return idsOf(comments.toSorted(by[sort]));
}

const scores = [0, 2, -1, 3, 0, -2, 2, 1, -1, 3, 0, 4];

describe("a post's comments", () => {
  it("begin where `from` says, and the next page goes on", async () => {
    const { post, ids } = await createThread([0, 0, 0, 0, 0]);
    await service.operator.remove({ commentId: BigInt(ids[1] as number), reason: spam });
    const from = async (query: string) => (await service.rest(`posts/${post}/comments?from=${query}`)).body;
    for (const [index, id] of ids.entries()) expect(idsOf((await from(`${id}`)).comments)).toEqual(ids.slice(index));
    expect(idsOf((await from("1&sort=old")).comments)).toEqual(ids);
    expect(await from("9007199254740991")).toMatchObject({ ok: true, comments: [], next_cursor: null });
    const { comments, next_cursor } = await from(`${ids[1]}&limit=2`);
    expect(idsOf(comments)).toEqual(ids.slice(1, 3));
    expect(idsOf((await service.rest(`posts/${post}/comments?cursor=${next_cursor}`)).body.comments)).toEqual(
      ids.slice(3),
    );
    expect(idsOf((await from(`1&cursor=${next_cursor}`)).comments)).toEqual(ids.slice(3));
    for (const sort of ["new", "top"]) {
      expect(idsOf((await from(`${ids[3]}&sort=${sort}`)).comments)).toEqual(ids.toReversed());
    }
    for (const query of ["0", "-1", "x", "", "9007199254740992"]) {
      expect(await from(query), query).toMatchObject({ error: "bad_input", field: "from" });
    }
  });

  it.each(["old", "new", "top"])("by %s are the same on one page and on small ones", async (sort) => {
    const { post } = await createThread(scores);
    const [all = []] = await pages(post, sort);
    expect(all.map(({ score }) => score).toSorted()).toEqual(scores.toSorted());
    expect(idsOf(all)).toEqual(ordered(all, sort));
    for (const limit of [1, 5, 12]) {
      const small = await pages(post, sort, limit);
      expect(small.flatMap(idsOf)).toEqual(idsOf(all));
      for (const page of small.slice(0, -1)) expect(page).toHaveLength(limit);
    }
  });

  it("keep the places of removed comments in every order, also those of a removed post", async () => {
    const { post, ids } = await createThread([0, 2, 1, 3]);
    expect((await pages(post, undefined)).map(idsOf)).toEqual([ids]);
    await service.operator.remove({ commentId: BigInt(ids[1] as number), reason: spam, keepForDays: 1n });
    await service.operator.remove({ postId: BigInt(post), reason: spam, keepForDays: 1n });
    for (const [sort, places] of Object.entries({ old: [0, 1, 2, 3], new: [3, 2, 1, 0], top: [3, 1, 2, 0] })) {
      const listed = (await pages(post, sort, 2)).flat();
      expect(idsOf(listed)).toEqual(places.map((place) => ids[place]));
      expect(listed.filter(({ removed }) => removed !== null).map(({ id }) => id)).toEqual([ids[1]]);
    }
  });

  it("in large numbers need several reads for a page, and each is listed once", async () => {
    const post = await service.post(author);
    const { pool } = service.db;
    const [writer] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [author.name]);
    const rows = Array.from({ length: 1_230 }, (_, i) => [post, writer?.id, "Comment", Date.now(), (i * 7) % 13]);
    await pool.query("INSERT INTO comments (post_id, author_id, body, created_at, upvotes) VALUES ?", [rows]);
    await pool.query("UPDATE comments SET score = upvotes WHERE post_id = ?", [post]);
    for (const sort of ["new", "top"]) {
      const listed = await pages(post, sort);
      expect(listed.map(({ length }) => length)).toEqual([1000, 230]);
      expect(idsOf(listed.flat())).toEqual(ordered(listed.flat(), sort));
    }
    await pool.query("DELETE FROM removed_comments WHERE post_id = ?", [post]);
    await pool.query("UPDATE comments SET upvotes = 0, downvotes = 0, score = 0 WHERE post_id = ?", [post]);
    await pool.query("DELETE FROM comments WHERE post_id = ?", [post]);
    expect(await recount(service.db)).toEqual([]);
  });

  it("by top never repeat a comment on a page while agents vote, and no comment that keeps its score is missed", async () => {
    const { post, ids } = await createThread([0, 0, 0, 0, 0, 0, 0, 0]);
    const restless = ids.slice(0, 2);
    let reading = true;
    const voting = Promise.all(
      voters.map(async ({ key }, turn) => {
        for (let round = 0; reading; round++) {
          const vote = [1, -1, 0][(turn + round) % 3];
          await service.rest(`comments/${restless[round % 2]}/vote`, { key, body: { vote } });
        }
      }),
    );
    for (let round = 0; round < 10; round++) {
      const listed = await pages(post, "top", 3);
      for (const page of listed) expect(new Set(idsOf(page)).size).toBe(page.length);
      const calm = listed.flatMap(idsOf).filter((id) => !restless.includes(id));
      expect(calm).toEqual(ids.slice(2).toReversed());
    }
    reading = false;
    await voting;
    expect(await recount(service.db)).toEqual([]);
  });

  it("by new are not shifted by comments that are added", async () => {
    const { post, ids } = await createThread([0, 0, 0, 0]);
    const first = (await service.rest(`posts/${post}/comments?sort=new&limit=2`)).body;
    await service.comment(author, post);
    const second = (await service.rest(`posts/${post}/comments?sort=new&limit=2&cursor=${first.next_cursor}`)).body;
    expect([...first.comments, ...second.comments].map(({ id }: Comment) => id)).toEqual(ids.toReversed());
    expect(second.next_cursor).toBe(null);
  });
});

describe("a cursor of comments", () => {
  it("belongs to one post and one order", async () => {
    const { post } = await createThread([0, 1, 2]);
    const { post: other } = await createThread([0, 1, 2]);
    for (const made of ["old", "new", "top"]) {
      const cursor = (await service.rest(`posts/${post}/comments?sort=${made}&limit=1`)).body.next_cursor;
      for (const used of ["old", "new", "top"]) {
        const same = await service.rest(`posts/${post}/comments?sort=${used}&limit=1&cursor=${cursor}`);
        expect(same.status, `${made} as ${used}`).toBe(made === used ? 200 : 400);
        if (made !== used) expect(same.body).toMatchObject({ error: "bad_input", field: "cursor" });
        const elsewhere = await service.rest(`posts/${other}/comments?sort=${used}&limit=1&cursor=${cursor}`);
        expect(elsewhere.body).toMatchObject({ error: "bad_input", field: "cursor" });
      }
    }
  });

  it.each([
    ["comments", 1, "top", 1],
    ["comments", 1, "top", 1.5, 1, 1],
    ["comments", 1, "top", 1, 1, "1"],
    ["comments", 1, "top", 1, 1, 1, 1],
    ["posts", 1, "top", 1, 1, 1],
  ])("that is forged is bad_input: %j", async (...values) => {
    const cursor = Buffer.from(JSON.stringify(values)).toString("base64url");
    const { status, body } = await service.rest(`posts/1/comments?sort=top&cursor=${cursor}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: "bad_input", field: "cursor" });
  });
});
