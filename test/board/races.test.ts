// Two replicas share one database while many agents call them at once. Every test ends with a recount of everything.
import { afterEach, describe, expect, it } from "vitest";
import { recount } from "../support/recount.ts";
import { type Reply, type Service, startService } from "../support/service.ts";

type Agent = Awaited<ReturnType<Service["register"]>>;

// Replicas of one service use the same addresses in their replies.
const config = { siteUrl: "https://stoa.test" };
const first = await startService({ config });
const instances: [Service, Service] = [first, await startService({ config, db: first.db })];
const agents = await Promise.all(Array.from({ length: 20 }, (_, i) => instance(i).register()));

afterEach(async () => {
  expect(await recount(instance(0).db)).toEqual([]);
});

function instance(turn: number): Service {
  return instances[turn % 2] as Service;
}

function agent(turn: number): Agent {
  return agents[turn % agents.length] as Agent;
}

function tally(replies: Reply[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of replies) {
    const kind = `${status} ${body.error ?? "ok"}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

async function karmaOf(name: string): Promise<number> {
  return (await instance(0).rest(`agents/${name}`)).body.agent.karma;
}

async function createPost(author: Agent, input: object = {}): Promise<number> {
  const { status, body } = await instance(0).rest("posts", { key: author.key, body: { title: "A post", ...input } });
  expect(status).toBe(201);
  return body.post.id;
}

describe("concurrently", () => {
  it("only one of many registrations of a name in mixed case succeeds", async () => {
    const spellings = Array.from({ length: 20 }, (_, i) =>
      i % 3 === 0 ? "Socrates" : i % 3 === 1 ? "SOCRATES" : "socRates",
    );
    const replies = await Promise.all(
      spellings.map((name, i) => instance(i).rest("agents/register", { body: { name } })),
    );
    expect(tally(replies)).toEqual({ "201 ok": 1, "409 name_taken": 19 });
    const winner = replies.find(({ status }) => status === 201)?.body;
    const { body } = await instance(1).rest("agents/me", { key: winner.api_key });
    expect(body.agent).toEqual(winner.agent);
  });

  it("only one of many creations of a community succeeds", async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        instance(i).rest("communities", { key: agent(i).key, body: { name: "agora", title: `Agora ${i}` } }),
      ),
    );
    expect(tally(replies)).toEqual({ "201 ok": 1, "409 exists": 19 });
    const winner = replies.find(({ status }) => status === 201)?.body.community;
    expect((await instance(1).rest("communities/agora")).body.community).toEqual(winner);
  });

  it("repeated, changed and removed votes add up", async () => {
    const author = agent(0);
    const post = await createPost(author);
    const calm = await createPost(author);
    const wanted = [1, -1, 0];
    // Two of them do not change their minds, so that votes of both kinds are left, in whatever order they come.
    const ballots = Array.from({ length: 80 }, (_, i) => ({
      voter: agent(1 + (i % 19)),
      vote: i % 19 < 2 ? 1 - 2 * (i % 19) : (wanted[(i * 7) % 3] as number),
    }));
    const replies = await Promise.all(
      ballots.map(({ voter, vote }, i) => {
        const key = voter.key;
        if (i % 5 === 0 && vote !== 0)
          return instance(i).rest(`posts/${post}/${vote === 1 ? "upvote" : "downvote"}`, { key, method: "POST" });
        return instance(i).rest(`posts/${post}/vote`, { key, body: { vote } });
      }),
    );
    expect(tally(replies)).toEqual({ "200 ok": 80 });
    for (const [i, { body }] of replies.entries()) {
      expect(body.your_vote).toBe(ballots[i]?.vote);
      expect(body.score).toBe(body.upvotes - body.downvotes);
    }

    // The recount after each test compares the counts with the votes.
    const { db } = instance(0);
    const shown = (await instance(1).rest(`posts/${post}`)).body.post;
    expect([shown.upvotes > 0, shown.downvotes > 0]).toEqual([true, true]);
    // No other post of the author has votes.
    expect(await karmaOf(author.name)).toBe(shown.score);

    const stored = await db.rows<{ id: number }>("SELECT id FROM posts ORDER BY hot_rank DESC, id DESC");
    const feed = (await instance(1).rest("posts?sort=hot")).body.posts.map(({ id }: { id: number }) => id);
    expect(feed).toEqual(stored.map(({ id }) => id).slice(0, 25));
    const top = (await instance(1).rest("posts?sort=top")).body.posts.map(({ id }: { id: number }) => id);
    expect(top.indexOf(post) < top.indexOf(calm)).toBe(shown.score > 0);
  });

  it("agents can post, comment and vote on each other's posts without failures", async () => {
    const circle = agents.slice(0, 6);
    const posts = await Promise.all(circle.map((author) => createPost(author)));
    const work = circle.flatMap(({ key }, i) =>
      posts.flatMap((post, j) => [
        ...(i === j
          ? []
          : [() => instance(i + j).rest(`posts/${post}/vote`, { key, body: { vote: ((i + j) % 3) - 1 } })]),
        () => instance(i).rest(`posts/${post}/comments`, { key, body: { body: "Hear, hear" } }),
        ...(j % 4 === 0 ? [() => instance(j).rest("posts", { key, body: { title: `Answer ${i} to ${j}` } })] : []),
      ]),
    );
    const replies = await Promise.all(work.map((run) => run()));
    expect(tally(replies)).toEqual({ "200 ok": 30, "201 ok": 36 + 12 });
  });

  it("the number of comments shown equals the comment count while comments are added", async () => {
    const post = await createPost(agent(0));
    let writing = true;
    // The 120 comments need several reads, which take a hundred at a time.
    const writers = Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        for (let n = 0; n < 15; n++) {
          await instance(i).rest(`posts/${post}/comments`, { key: agent(i).key, body: { body: `Comment ${n}` } });
        }
      }),
    ).finally(() => {
      writing = false;
    });
    const seen: number[] = [];
    do {
      const { body } = await instance(seen.length).rest(`posts/${post}`);
      expect(body.comments).toHaveLength(body.post.comment_count);
      seen.push(body.post.comment_count);
    } while (writing);
    await writers;
    expect((await instance(1).rest(`posts/${post}`)).body.post.comment_count).toBe(120);
  });
});
