// Servers of a cluster give out ids in orders of their own. Lists by time go by the time, and the id only breaks ties.
import { describe, expect, it } from "vitest";
import { openStore } from "../support/database.ts";
import { someoneWaits } from "../support/locks.ts";
import { spam, startModerated } from "../support/moderation.ts";
import { recountLines } from "./recount/lines.ts";

interface Item {
  id: number;
  created_at: number;
  score: number;
}

const start = Date.UTC(2026, 4, 1);
const firstId = 1_000_000;
const size = 12;
/** Five times their order, so that ids and times disagree. Two of them share each time. */
const items: Item[] = Array.from({ length: size }, (_, n) => ({
  id: firstId + ((n * 5) % size),
  created_at: start + Math.floor(n / 2),
  score: n % 3,
}));

const orders = {
  old: (a: Item, b: Item) => a.created_at - b.created_at || a.id - b.id,
  new: (a: Item, b: Item) => b.created_at - a.created_at || b.id - a.id,
  top: (a: Item, b: Item) => b.score - a.score || b.created_at - a.created_at || b.id - a.id,
};

let now = start;

const service = await startModerated({ overrides: { now: () => now } });
const [author, other] = [await service.register(), await service.register()];
const [row] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [author.name]);
const authorId = Number(row?.id);
now = start - 10;
/** A post with a comment, to which the items are the replies. */
const post = await service.post(author, { body: "Body" });
const parent = await service.comment(other, post);
now = start + 60_000;
const { pool } = service.db;
await pool.query(
  "INSERT INTO comments (id, post_id, parent_id, author_id, body, created_at, upvotes, score) VALUES ?",
  [items.map(({ id, created_at, score }) => [id, post, parent, authorId, "Reply", created_at, score, score])],
);
await pool.query("INSERT INTO post_revisions (id, post_id, edited_at) VALUES ?", [
  items.map(({ id, created_at }) => [id, post, created_at]),
]);
await pool.query(
  "INSERT INTO reports (id, item, item_id, post_id, community_id, agent_id, reason, note, created_at) VALUES ?",
  [items.map(({ id, created_at }) => [id, "comment", id + size, post, 1, authorId, "spam", "", created_at])],
);

/** Reads the list in pages of five, and returns the values by which `pick` tells elements apart. */
async function readAll(path: string, key: string, pick: (item: never) => unknown): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { status, body } = await service.rest(`${path}${cursor && `&cursor=${cursor}`}`);
    expect(status, path).toBe(200);
    all.push(...body[key].map(pick));
    cursor = body.next_cursor;
  }
  return all;
}

const idOf = ({ id }: Item) => id;
const inOrder = (sort: keyof typeof orders) => items.toSorted(orders[sort]);

describe("elements whose ids disagree with their times", () => {
  it.each(["old", "new", "top"] as const)("are in order among comments by %s, standing or removed", async (sort) => {
    const removed = items.filter((_, n) => n % 4 === 1);
    for (const { id } of removed)
      await service.operator.remove({ commentId: BigInt(id), reason: spam, keepForDays: 1n });
    const listed = await readAll(`posts/${post}/comments?sort=${sort}&limit=5`, "comments", idOf);
    expect(listed.filter((id) => id !== parent)).toEqual(inOrder(sort).map(idOf));
    expect(await readAll(`comments/${parent}/replies?limit=5`, "comments", idOf)).toEqual(inOrder("old").map(idOf));
    for (const { id } of removed) await service.operator.restore({ commentId: BigInt(id) });
  });

  it("begin with the comment that `from` names", async () => {
    for (const [index, { id }] of inOrder("old").entries()) {
      const { body } = await service.rest(`posts/${post}/comments?from=${id}`);
      expect(body.comments.map(idOf)).toEqual(inOrder("old").slice(index).map(idOf));
    }
  });

  it("come after the last known comment if `from` is its id plus 1", async () => {
    const mine = await service.post(author);
    const ids = [5, 1, 3].map((n) => firstId + 100 + n);
    const [row] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [other.name]);
    await service.db.pool.query("INSERT INTO comments (id, post_id, author_id, body, created_at) VALUES ?", [
      ids.map((id, n) => [id, mine, row?.id, "Comment", start + n]),
    ]);
    const listAfter = async (id: number) =>
      (await service.rest(`posts/${mine}/comments?from=${id + 1}`)).body.comments.map(idOf);
    for (const [index, id] of ids.entries()) expect(await listAfter(id)).toEqual(ids.slice(index + 1));
    // Of ids that nobody has, the next one counts.
    expect(await listAfter(firstId + 50)).toEqual(ids.slice(1));
  });

  it("are in order on a page of search results by new", async () => {
    const [older, newer] = [
      await service.post(author, { title: "Zwillingsid" }),
      await service.post(author, { title: "Zwillingsid" }),
    ];
    const search = async () => (await service.rest("search?q=zwillingsid&sort=new")).body.posts.map(idOf);
    await service.db.rows("UPDATE posts SET created_at = created_at + 5 WHERE id = ?", [older]);
    expect(await search()).toEqual([older, newer]);
  });

  it("are in order among reports, for the operator and for moderators", async () => {
    const ids: number[] = [];
    for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
      const page = await service.operator.listReports({ limit: 5n, ...(cursor === undefined ? {} : { cursor }) });
      ids.push(...page.reports.map(({ id }) => Number(id)));
      cursor = page.nextCursor;
    }
    expect(ids).toEqual(inOrder("old").map(idOf));
    await service.db.rows("INSERT INTO community_moderators VALUES (1, (SELECT id FROM agents WHERE name = ?), 1)", [
      other.name,
    ]);
    const { body } = await service.rest("agents/me/reports", { key: other.key });
    expect(body.reports.map(idOf)).toEqual(inOrder("old").map(idOf));
  });

  it("are in order among the comments of an agent, and among revisions", async () => {
    const listed = await readAll(`agents/${author.name}/comments?limit=5`, "comments", idOf);
    expect(listed).toEqual(inOrder("new").map(idOf));
    const { revisions } = (await service.rest(`posts/${post}/revisions`)).body;
    const times = revisions.map(({ edited_at }: { edited_at: string }) => Date.parse(edited_at));
    expect(times).toEqual(inOrder("old").map(({ created_at }) => created_at));
  });
});

describe("while clocks differ", () => {
  it("each comment is later than those before it, and each edit than the one before", async () => {
    const mine = await service.post(author);
    const times: number[] = [];
    for (const step of [0, -60_000, -60_000, 30_000]) {
      now += step;
      const { comment } = (await service.rest(`posts/${mine}/comments`, { key: other.key, body: { body: "Tick" } }))
        .body;
      times.push(Date.parse(comment.created_at));
      await service.rest(`posts/${mine}`, { key: author.key, method: "PATCH", body: { body: `Edit ${times.length}` } });
    }
    const [first = 0] = times;
    expect(times).toEqual([first, first + 1, first + 2, first + 3]);
    const { revisions } = (await service.rest(`posts/${mine}/revisions`)).body;
    expect(revisions.map(({ edited_at }: { edited_at: string }) => Date.parse(edited_at))).toEqual(times);
    const { comments } = (await service.rest(`posts/${mine}/comments`)).body;
    // A removed comment counts too.
    await service.operator.remove({ commentId: BigInt(comments.at(-1).id), reason: spam });
    const last = (await service.rest(`posts/${mine}/comments`, { key: other.key, body: { body: "Tock" } })).body
      .comment;
    expect(Date.parse(last.created_at)).toBe(first + 4);
  });

  it("a comment that waits for the lock of its post is later than the one that it waits for", async () => {
    const mine = await service.post(author);
    const ahead = now + 3_600_000;
    const connection = await service.db.pool.getConnection();
    await connection.beginTransaction();
    await connection.query("SELECT id FROM posts WHERE id = ? FOR UPDATE", [mine]);
    const waiting = service.rest(`posts/${mine}/comments`, { key: other.key, body: { body: "Waits" } });
    await someoneWaits(service.db);
    await connection.query("INSERT INTO comments (post_id, author_id, body, created_at) VALUES (?, ?, 'Ahead', ?)", [
      mine,
      authorId,
      ahead,
    ]);
    await connection.commit();
    connection.release();
    expect(Date.parse((await waiting).body.comment.created_at)).toBe(ahead + 1);
  });

  it("a recount minds neither a reply with a lower id than its parent, nor one with an earlier time", async () => {
    const [low, high] = items.toSorted((a, b) => a.id - b.id) as [Item, Item];
    const db = openStore(service.db, 1);
    const set = ({ id }: Item, parentId: number, createdAt: number) =>
      service.db.rows(`UPDATE comments SET parent_id = ${parentId}, created_at = ${createdAt} WHERE id = ${id}`);
    const problems = async (reply: Item, answered: Item, difference: number) => {
      await set(reply, answered.id, answered.created_at + difference);
      const found = await recountLines(db);
      await set(reply, parent, reply.created_at);
      return found.filter((line) => line.startsWith("comments.parent_id"));
    };
    expect(await problems(low, high, 1)).toEqual([]);
    expect(await problems(high, low, -1)).toEqual([]);
    expect(await problems(low, high, -1)).toEqual([`comments.parent_id id ${low.id}: comment ${high.id} is not older`]);
  });
});
