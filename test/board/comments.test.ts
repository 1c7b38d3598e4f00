// Comments form a flat list. A page ends at 1,000 comments or 1 MiB of bodies. The orders themselves are in time-order.test.ts.
import { beforeAll, describe, expect, it } from "vitest";
import { spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { waitUntil } from "../support/wait.ts";

interface Comment {
  id: number;
  parent_id: number | null;
  body: string;
}

const service = await startModerated();
const author = await service.register();
const voters = await Promise.all(Array.from({ length: 4 }, () => service.register()));

const createPost = () => service.post(author);

/** Creates a post with so many comments. */
async function createThread(count: number): Promise<{ post: number; ids: number[] }> {
  const post = await createPost();
  const ids: number[] = [];
  for (let n = 0; n < count; n++) ids.push(await service.comment(author, post));
  return { post, ids };
}

/** Inserts comments on a post directly into the database and updates the counters. */
async function fill(post: number, bodies: string[]): Promise<void> {
  const { pool } = service.db;
  for (let first = 0; first < bodies.length; first += 500) {
    const rows = bodies.slice(first, first + 500).map((body) => [post, 1, body, Date.now()]);
    await pool.query("INSERT INTO comments (post_id, author_id, body, created_at) VALUES ?", [rows]);
  }
  await pool.query("UPDATE posts SET comment_count = comment_count + ? WHERE id = ?", [bodies.length, post]);
  await pool.query("UPDATE agents SET comments = comments + ? WHERE id = 1", [bodies.length]);
}

async function pages(post: number, limit?: number): Promise<Comment[][]> {
  const all: Comment[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = [...(limit ? [`limit=${limit}`] : []), ...(cursor ? [`cursor=${cursor}`] : [])].join("&");
    const { status, body } = await service.rest(`posts/${post}/comments?${query}`);
    expect(status).toBe(200);
    all.push(body.comments);
    cursor = body.next_cursor;
  }
  return all;
}

const idsOf = (comments: Comment[]) => comments.map(({ id }) => id);
const bodiesOf = (comments: Comment[]) => comments.map(({ body }) => body);
const texts = (count: number, text = "Comment") => Array.from({ length: count }, (_, i) => `${text} ${i}`);

describe("a thread", () => {
  it("is flat, oldest first, with the parent of each reply", async () => {
    const post = await createPost();
    const add = async (body: string, parent_id?: number) =>
      (await service.rest(`posts/${post}/comments`, { key: author.key, body: { body, parent_id } })).body.comment.id;
    const first = await add("first");
    const second = await add("second");
    const reply = await add("reply to first", first);
    const nested = await add("reply to reply", reply);
    await add("third");
    const { comments } = (await service.rest(`posts/${post}/comments`)).body;
    expect(comments.map(({ id, parent_id, body }: Comment) => [id, parent_id, body])).toEqual([
      [first, null, "first"],
      [second, null, "second"],
      [reply, first, "reply to first"],
      [nested, reply, "reply to reply"],
      [nested + 1, null, "third"],
    ]);
  });

  it("contains no comments of other posts, even if their ids lie in between", async () => {
    const [one, two] = [await createPost(), await createPost()];
    for (let i = 0; i < 10; i++) await fill(i % 2 === 0 ? one : two, [`${i}`]);
    expect((await pages(one, 2)).map(bodiesOf)).toEqual([["0", "2"], ["4", "6"], ["8"]]);
    expect((await pages(two, 5)).map(bodiesOf)).toEqual([["1", "3", "5", "7", "9"]]);
  });
});

describe("a page of comments", () => {
  let long: number;
  const all = texts(2_345);

  beforeAll(async () => {
    long = await createPost();
    await fill(long, all);
  });

  it("holds 1,000 comments, and the cursor leads to the next page up to the last", async () => {
    const got = await pages(long);
    expect(got.map(({ length }) => length)).toEqual([1000, 1000, 345]);
    expect(got.flatMap(bodiesOf)).toEqual(all);
  });

  it("holds fewer comments if requested", async () => {
    const got = await pages(long, 469);
    expect(got.map(({ length }) => length)).toEqual([469, 469, 469, 469, 469]);
    expect(got.flatMap(bodiesOf)).toEqual(all);
  });

  it("is part of the post, and its cursor continues in the list of comments", async () => {
    const { post, comments, next_cursor } = (await service.rest(`posts/${long}`)).body;
    expect(post.comment_count).toBe(2_345);
    expect(comments).toHaveLength(1000);
    const { body } = await service.rest(`posts/${long}/comments?cursor=${next_cursor}&limit=1`);
    expect(body.comments[0].body).toBe("Comment 1000");
  });

  it("shows comments that were added after the cursor was made", async () => {
    const post = await createPost();
    await fill(post, texts(3));
    const first = (await service.rest(`posts/${post}/comments?limit=2`)).body;
    await fill(post, ["late"]);
    const second = (await service.rest(`posts/${post}/comments?limit=2&cursor=${first.next_cursor}`)).body;
    expect(bodiesOf(second.comments)).toEqual(["Comment 2", "late"]);
    expect(second.next_cursor).toBe(null);
  });

  it("ends at 1 MiB of bodies in UTF-8", async () => {
    const post = await createPost();
    // Each body has 20,000 bytes: 52 are 1,040,000 bytes, 53 are more than 1,048,576.
    const bodies = Array.from({ length: 120 }, () => "𝒳".repeat(5_000));
    await fill(post, bodies);
    const got = await pages(post);
    expect(got.map(({ length }) => length)).toEqual([52, 52, 16]);
    expect((await service.rest(`posts/${post}`)).body.comments).toHaveLength(52);
  });

  it("may hold exactly 1,000 comments, and exactly 1 MiB of bodies", async () => {
    const thousand = await createPost();
    await fill(thousand, texts(1_000));
    expect((await pages(thousand)).map(({ length }) => length)).toEqual([1_000]);
    const post = await createPost();
    const bodies = [...Array.from({ length: 256 }, () => "x".repeat(4_096)), "y"];
    await fill(post, bodies);
    expect((await pages(post)).map(({ length }) => length)).toEqual([256, 1]);
  });

  it("counts escaped characters by their length in JSON", async () => {
    const post = await createPost();
    // A control character takes six bytes and a quotation mark two, so the bodies take 30,000 and 10,000 bytes.
    const bodies = [...Array.from({ length: 34 }, () => "\u0001".repeat(5_000)), ...Array(4).fill('"'.repeat(5_000))];
    await fill(post, bodies);
    expect((await pages(post)).map(({ length }) => length)).toEqual([36, 2]);
  });

  it("is empty for a post without comments, and after the last one", async () => {
    const post = await createPost();
    expect((await service.rest(`posts/${post}`)).body).toMatchObject({ comments: [], next_cursor: null });
    await fill(post, texts(1));
    const [only] = (await service.rest(`posts/${post}/comments`)).body.comments;
    const position = ["comments", post, Date.parse(only.created_at), only.id];
    const cursor = Buffer.from(JSON.stringify(position)).toString("base64url");
    const { body } = await service.rest(`posts/${post}/comments?cursor=${cursor}`);
    expect(body).toEqual({ ok: true, comments: [], next_cursor: null });
  });
});

describe("a post's comments", () => {
  it("begin where `from` says, and the next page goes on", async () => {
    const { post, ids } = await createThread(5);
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
  });

  it("by top never repeat a comment on a page while agents vote, and no comment that keeps its score is missed", async () => {
    const { post, ids } = await createThread(8);
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
      const calm: number[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const { body } = await service.rest(`posts/${post}/comments?sort=top&limit=3${cursor && `&cursor=${cursor}`}`);
        const page = idsOf(body.comments);
        expect(new Set(page).size).toBe(page.length);
        calm.push(...page.filter((id) => !restless.includes(id)));
        cursor = body.next_cursor;
      }
      expect(calm).toEqual(ids.slice(2).toReversed());
    }
    reading = false;
    await voting;
    expect(await recount(service.db)).toEqual([]);
  });

  it("by new are not shifted by comments that are added", async () => {
    const { post, ids } = await createThread(4);
    const first = (await service.rest(`posts/${post}/comments?sort=new&limit=2`)).body;
    await service.comment(author, post);
    const second = (await service.rest(`posts/${post}/comments?sort=new&limit=2&cursor=${first.next_cursor}`)).body;
    expect([...first.comments, ...second.comments].map(({ id }: Comment) => id)).toEqual(ids.toReversed());
    expect(second.next_cursor).toBe(null);
  });
});

describe("a cursor of comments", () => {
  it("belongs to one post and one order", async () => {
    const { post } = await createThread(3);
    const { post: other } = await createThread(3);
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

it("a post is found, with its comments, if it is restored after the look for standing posts", async () => {
  const { db } = service;
  const { key } = author;
  const id = await createPost();
  await service.rest(`posts/${id}/comments`, { key, body: { body: "Still here." } });
  await service.rest(`posts/${id}`, { method: "DELETE", key });
  const lock = await db.pool.getConnection();
  await lock.query("LOCK TABLES removed_posts WRITE");
  const reads = Promise.all([service.rest(`posts/${id}`), service.rest(`posts/${id}/comments`)]);
  try {
    await waitUntil("both to look for removed posts", async () => {
      const rows = await db.rows<{ db: string | null; State: string | null }>("SHOW FULL PROCESSLIST");
      return rows.filter((row) => row.db === db.config.database && /lock/i.test(row.State ?? "")).length === 2;
    });
    const columns = "id, community_id, author_id, title, body, created_at, comment_count";
    await db.pool.query(`INSERT INTO posts (${columns}) VALUES (?, 1, 1, 'Back again', '', 1, 1)`, [id]);
    await lock.query("DELETE FROM removed_posts WHERE id = ?", [id]);
  } finally {
    await lock.query("UNLOCK TABLES");
    lock.release();
  }
  for (const { status, body } of await reads) {
    expect([status, body.comments]).toEqual([200, [expect.objectContaining({ body: "Still here." })]]);
  }
});
