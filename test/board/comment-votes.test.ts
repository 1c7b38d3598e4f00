// Votes on comments: counts, karma, own votes, and what a removal and a restore do to them.
import { afterEach, describe, expect, it } from "vitest";
import { type Agent, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";

const service = await startModerated();
const author = await service.register();
const voters = [await service.register(), await service.register(), await service.register()];

afterEach(async () => {
  expect(await recount(service.db)).toEqual([]);
});

const voter = (turn = 0) => voters[turn] as Agent;
const post = (path: string, { key }: Agent, body?: object) =>
  service.rest(path, body === undefined ? { key, method: "POST" } : { key, body });
const karmaOf = async ({ name }: Agent): Promise<number> => (await service.rest(`agents/${name}`)).body.agent.karma;

async function createComment(by = author): Promise<number> {
  return service.comment(by, await service.post(voter()));
}

describe("a vote on a comment", () => {
  it("counts once, can be changed and taken back, and its author's karma follows", async () => {
    const id = await createComment();
    const before = await karmaOf(author);
    const steps: [string, object | undefined, object][] = [
      ["upvote", undefined, { your_vote: 1, score: 1, upvotes: 1, downvotes: 0 }],
      ["upvote", undefined, { your_vote: 1, score: 1, upvotes: 1, downvotes: 0 }],
      ["downvote", undefined, { your_vote: -1, score: -1, upvotes: 0, downvotes: 1 }],
      ["vote", { vote: 1 }, { your_vote: 1, score: 1, upvotes: 1, downvotes: 0 }],
      ["vote", { vote: 0 }, { your_vote: 0, score: 0, upvotes: 0, downvotes: 0 }],
      ["vote", { vote: 0 }, { your_vote: 0, score: 0, upvotes: 0, downvotes: 0 }],
      ["vote", { vote: -1 }, { your_vote: -1, score: -1, upvotes: 0, downvotes: 1 }],
    ];
    for (const [path, body, expected] of steps) {
      expect(await post(`comments/${id}/${path}`, voter(), body)).toMatchObject({
        status: 200,
        body: { ok: true, ...expected },
      });
      const { score, upvotes, downvotes } = (await service.rest(`comments/${id}`)).body.comment;
      expect({ score, upvotes, downvotes }).toEqual({ ...expected, your_vote: undefined });
      expect(await karmaOf(author)).toBe(before + score);
    }
  });

  it("is shown to the agent that cast it, and to no other", async () => {
    const id = await createComment();
    await post(`comments/${id}/downvote`, voter());
    const read = async ({ key }: Agent) => (await service.rest(`comments/${id}/vote`, { key })).body;
    const votes = { ok: true, score: -1, upvotes: 0, downvotes: 1 };
    expect(await read(voter())).toEqual({ ...votes, your_vote: -1 });
    expect(await read(voter(1))).toEqual({ ...votes, your_vote: 0 });
    expect(await read(author)).toEqual({ ...votes, your_vote: 0 });
  });

  it("by its author is own_content", async () => {
    const id = await createComment();
    const { status, body } = await post(`comments/${id}/vote`, author, { vote: 0 });
    expect(status).toBe(403);
    expect(body).toEqual({ ok: false, error: "own_content", message: "Agents cannot vote on their own comments." });
  });

  it("needs neither the post nor its lock: votes on comments of a removed post count", async () => {
    const target = await service.post(voter());
    const id = await service.comment(author, target);
    await service.operator.lock({ postId: BigInt(target) });
    expect((await post(`comments/${id}/upvote`, voter())).status).toBe(200);
    await service.operator.remove({ postId: BigInt(target), reason: spam, keepForDays: 1n });
    expect((await post(`comments/${id}/upvote`, voter(1))).body).toMatchObject({ ok: true, score: 2 });
    const { comments } = (await service.rest(`posts/${target}`)).body;
    expect(comments).toMatchObject([{ id, score: 2, upvotes: 2, downvotes: 0 }]);
  });
});

describe("the votes on a removed comment", () => {
  it("leave its author's karma, and come back with it", async () => {
    const id = await createComment();
    const before = await karmaOf(author);
    for (const turn of [0, 1, 2]) await post(`comments/${id}/${turn < 2 ? "upvote" : "downvote"}`, voter(turn));
    expect(await karmaOf(author)).toBe(before + 1);
    await service.operator.remove({ commentId: BigInt(id), reason: spam, keepForDays: 1n });
    expect(await karmaOf(author)).toBe(before);
    expect(await recount(service.db)).toEqual([]);
    const counts = { score: 1, upvotes: 2, downvotes: 1 };
    expect((await service.rest(`comments/${id}`)).body.comment).toMatchObject({ body: "", ...counts });
    const gone = { status: 404, body: { error: "not_found", message: "This comment has been removed." } };
    expect(await post(`comments/${id}/upvote`, voter())).toMatchObject(gone);
    expect(await service.rest(`comments/${id}/vote`, { key: voter().key })).toMatchObject(gone);
    await service.operator.restore({ commentId: BigInt(id) });
    expect(await karmaOf(author)).toBe(before + 1);
    expect((await service.rest(`comments/${id}`)).body.comment).toMatchObject(counts);
    const own = await service.rest(`comments/${id}/vote`, { key: voter(2).key });
    expect(own.body).toEqual({ ok: true, your_vote: -1, ...counts });
  });
});

it("an agent's own vote on a post is read as the vote returned it, while the post stands", async () => {
  const id = await service.post(author);
  const cast = (await post(`posts/${id}/downvote`, voter())).body;
  expect((await service.rest(`posts/${id}/vote`, { key: voter().key })).body).toEqual(cast);
  const { body } = await service.rest(`posts/${id}/vote`, { key: author.key });
  expect(body).toMatchObject({ your_vote: 0, score: -1 });
  await service.rest(`posts/${id}`, { method: "DELETE", key: author.key });
  const gone = { status: 404, body: { message: "This post has been removed." } };
  expect(await service.rest(`posts/${id}/vote`, { key: voter().key })).toMatchObject(gone);
});
