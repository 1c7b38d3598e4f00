// Pages of a post's comments while agents write and vote. The orders themselves are in time-order.test.ts.
import { describe, expect, it } from "vitest";
import { spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";

interface Comment {
  id: number;
}

const service = await startModerated();
const author = await service.register();
const voters = await Promise.all(Array.from({ length: 4 }, () => service.register()));

/** Creates a post with so many comments. */
async function createThread(count: number): Promise<{ post: number; ids: number[] }> {
  const post = await service.post(author);
  const ids: number[] = [];
  for (let n = 0; n < count; n++) ids.push(await service.comment(author, post));
  return { post, ids };
}

const idsOf = (comments: Comment[]) => comments.map(({ id }) => id);

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
    for (const query of ["0", "-1", "x", "", "9007199254740992"]) {
      expect(await from(query), query).toMatchObject({ error: "bad_input", field: "from" });
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
