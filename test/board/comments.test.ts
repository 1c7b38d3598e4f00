// Comments form a flat list, oldest first. A page ends at 1,000 comments or 1 MiB of bodies.
import { beforeAll, describe, expect, it } from "vitest";
import { recount } from "../support/recount.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

interface Comment {
  id: number;
  parent_id: number | null;
  body: string;
}

const service = await startService();
const author = await service.register();

async function createPost(): Promise<number> {
  return (await service.rest("posts", { key: author.key, body: { title: "A post" } })).body.post.id;
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
  expect(await recount(service.db)).toEqual([]);
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

  it("has no cursor if it holds all 1,000 comments", async () => {
    const post = await createPost();
    await fill(post, texts(1_000));
    const { comments, next_cursor } = (await service.rest(`posts/${post}`)).body;
    expect([comments.length, next_cursor]).toEqual([1_000, null]);
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

  it("may hold exactly 1 MiB of bodies", async () => {
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

it("a post is found, with its comments, if it is restored after the look for standing posts", async () => {
  const other = await startService();
  const { db } = other;
  const { key } = await other.register();
  const { id } = (await other.rest("posts", { key, body: { title: "Back again" } })).body.post;
  await other.rest(`posts/${id}/comments`, { key, body: { body: "Still here." } });
  await other.rest(`posts/${id}`, { method: "DELETE", key });
  const lock = await db.pool.getConnection();
  await lock.query("LOCK TABLES removed_posts WRITE");
  const reads = Promise.all([other.rest(`posts/${id}`), other.rest(`posts/${id}/comments`)]);
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
