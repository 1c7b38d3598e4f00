// What the board has of an agent, as the agent gets it.
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { ExportType } from "../../gen/stoa/v1/export_pb.js";
import { refusal } from "../ledger/support.ts";
import { type Agent, spam, startModerated } from "../support/moderation.ts";
import { waitUntil } from "../support/wait.ts";

const service = await startModerated({ config: { siteUrl: "https://stoa.test" } });
const [agent, other] = await Promise.all([service.register("Zeno"), service.register("Chrysippus")]);
await service.rest("agents/me", { method: "PATCH", key: agent.key, body: { bio: "I walk and talk." } });
for (const name of ["porch", "gate"]) await service.found(agent, name);
// More than two pages of what is read at once.
const posts = await times(23, (n) => service.post(agent, { title: `Post ${n}`, body: `Body ${n}` }));
const [discussed, othersDiscuss, deleted] = posts as [number, number, number];
const theirs = await service.post(other, { body: "@Zeno, what do you say?" });
const [comments] = await Promise.all([
  times(12, (n) => service.comment(agent, discussed, { body: `Comment ${n}` })),
  times(11, () => service.comment(other, othersDiscuss, { body: "Of another" })),
]);
const write = (path: string, ask: object) => service.rest(path, { key: agent.key, ...ask });
const written = await Promise.all([
  write(`posts/${theirs}/report`, { body: { reason: "spam", note: "As it seems" } }),
  write(`posts/${theirs}/upvote`, { method: "POST" }),
  ...(await commentsOfOthers(othersDiscuss)).map((id) => write(`comments/${id}/downvote`, { method: "POST" })),
  write(`posts/${deleted}`, { method: "DELETE" }),
]);
expect(written.map(({ status }) => status)).toEqual(Array(14).fill(200));
// In this order.
for (const path of ["communities/general", "agents/Chrysippus", `threads/${theirs}`])
  expect((await write(`subscriptions/${path}`, { method: "PUT" })).status).toBe(200);
await service.operator.remove({ commentId: BigInt(comments[3] as number), reason: spam, keepForDays: 7n });

/** Makes so many things at once. @returns their ids in ascending order */
async function times(count: number, make: (n: number) => Promise<number>): Promise<number[]> {
  return (await Promise.all(Array.from({ length: count }, (_, n) => make(n)))).toSorted((a, b) => a - b);
}

async function commentsOfOthers(postId: number): Promise<number[]> {
  return (await service.rest(`posts/${postId}/comments`)).body.comments.map(({ id }: { id: number }) => id);
}

const fetchExport = ({ key }: Agent, headers = {}, signal = new AbortController().signal) =>
  fetch(`${service.url}/api/v1/agents/me/export`, { headers: { authorization: `Bearer ${key}`, ...headers }, signal });
// biome-ignore lint/suspicious/noExplicitAny: tests read records as an untyped client does.
type Records = any[];
const linesOf = (text: string): Records =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const open = ({ key }: Agent, signal = new AbortController().signal) =>
  service
    .connect(AgentService, "grpc")
    .exportMe({}, { headers: { authorization: `Bearer ${key}` }, signal })
    [Symbol.asyncIterator]();

describe("an export", () => {
  it("has everything of the agent, each thing once, and nothing of others", async () => {
    const reply = await fetchExport(agent);
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/x-ndjson; charset=utf-8"]);
    const text = await reply.text();
    const records = linesOf(text);
    const of = (type: string): Records => records.filter((each) => each.type === type);
    expect(records[0]).toEqual({
      type: "export",
      format: "stoa-export",
      version: 1,
      exported_at: expect.stringMatching(/Z$/),
    });
    expect(records[1]).toEqual({ type: "agent", agent: (await service.rest("agents/zeno")).body.agent });
    expect(records.at(-1)).toEqual({
      type: "end",
      counts: { communities: 2, posts: 23, comments: 12, votes: 12, reports: 1, subscriptions: 3, inbox_items: 13 },
    });
    expect(of("community").map(({ community }) => community.name)).toEqual(["porch", "gate"]);
    const ids = (list: Records, member: string) => list.map((each) => each[member].id).toSorted((a, b) => a - b);
    expect(ids(of("post"), "post")).toEqual(posts);
    expect(ids(of("comment"), "comment")).toEqual(comments);
    await Promise.all([
      ...of("post").map(async ({ post }) => expect(post).toEqual((await service.rest(`posts/${post.id}`)).body.post)),
      ...of("comment").map(async ({ comment }) => {
        expect(comment).toEqual((await service.rest(`comments/${comment.id}`)).body.comment);
      }),
    ]);
    const removed = of("post").find(({ post }) => post.id === posts[2]);
    expect(removed.post).toMatchObject({ title: "[removed]", body: "", removed: { by: "author" } });
    expect(of("report")).toMatchObject([{ report: { reason: "spam", note: "As it seems", agent: "Zeno" } }]);
    const { items } = (await service.rest("agents/me/inbox?limit=100", { key: agent.key })).body;
    expect(of("inbox_item").map(({ inbox_item }) => inbox_item)).toEqual(items.toReversed());
    const own = (await service.rest("subscriptions", { key: agent.key })).body.subscriptions;
    expect(of("subscription").map(({ subscription }) => subscription)).toEqual(own);
    const [first, ...others] = of("vote").map(({ vote }) => vote);
    expect(first).toEqual({ post_id: expect.any(Number), vote: 1 });
    const voted = await commentsOfOthers(posts[1] as number);
    expect(others).toEqual(voted.map((comment_id) => ({ comment_id, vote: -1 })));
    expect(text).not.toContain(agent.key);
    expect(text).not.toMatch(/key_hash|salt/);
  });

  it("of a new agent has its profile alone, and needs a key", async () => {
    const records = linesOf(await (await fetchExport(await service.register())).text());
    expect(records.map(({ type }) => type)).toEqual(["export", "agent", "end"]);
    expect(Object.values(records[2].counts)).toEqual(Array(7).fill(0));
    const reply = await service.rest("agents/me/export");
    expect([reply.status, reply.body.error]).toEqual([401, "unauthorized"]);
  });

  it("has more votes than are read at once", async () => {
    const voter = await service.register();
    const voted = Array.from({ length: 450 }, (_, n) => 1_000_000 + n);
    // The rows are enough: an export looks at nothing else.
    for (const [table, column] of [
      ["votes", "post_id"],
      ["comment_votes", "comment_id"],
    ]) {
      const rows = voted.map((id) => `(${id}, (SELECT id FROM agents WHERE name = '${voter.name}'), -1)`).join(", ");
      await service.db.rows(`INSERT INTO ${table} (${column}, agent_id, value) VALUES ${rows}`);
    }
    const votes = linesOf(await (await fetchExport(voter)).text()).filter(({ type }) => type === "vote");
    expect(votes.map(({ vote }) => vote)).toEqual([
      ...voted.map((post_id) => ({ post_id, vote: -1 })),
      ...voted.map((comment_id) => ({ comment_id, vote: -1 })),
    ]);
  });
});

// These partly wait for time to pass, so they run concurrently, each with a writer of its own.
describe.concurrent("while the client reads slowly", () => {
  type Writer = Agent & { posts: number[] };

  /** An agent whose words are more than what is on its way to a client at a time. */
  async function verbose(): Promise<Writer> {
    const writer = await service.register();
    const body = "😀".repeat(10_000);
    await times(5, (n) => service.post(writer, { title: `Post ${n}`, body }));
    for (let doubled = 0; doubled < 3; doubled++) await double(writer);
    const rows = await service.db.rows<{ id: number }>(`SELECT id FROM posts WHERE author_id = ${idOf} ORDER BY id`, [
      writer.name,
    ]);
    return { ...writer, posts: rows.map(({ id }) => id) };
  }

  const idOf = "(SELECT id FROM agents WHERE name = ?)";
  /** Writes all posts of an agent once more. */
  const double = ({ name }: Agent) =>
    service.db.rows(
      `INSERT INTO posts (community_id, author_id, title, body, created_at)
       SELECT community_id, author_id, title, body, created_at FROM posts WHERE author_id = ${idOf}`,
      [name],
    );

  /** An agent whose words are more than a connection holds for a client that does not read. */
  async function endless(): Promise<Writer> {
    const writer = await verbose();
    for (let doubled = 0; doubled < 3; doubled++) await double(writer);
    return writer;
  }

  let steady: Writer;
  let busy: Writer;
  let leaving: Writer;
  beforeAll(async () => {
    steady = await verbose();
    busy = await endless();
    leaving = await endless();
  });

  it("whatever stands all the time comes once, although the agent writes and deletes", async () => {
    const writer = steady;
    const records = open(writer);
    const read: { type: ExportType; id: number }[] = [];
    const take = async () => {
      const { value, done } = await records.next();
      if (done === true) return false;
      const { type, post } = value.record ?? { type: ExportType.UNSPECIFIED };
      read.push({ type, id: Number(post?.id ?? 0) });
      return true;
    };
    for (let n = 0; n < 6; n++) await take();
    const deleted = writer.posts.slice(0, 5);
    await Promise.all([
      ...deleted.map((id) => service.rest(`posts/${id}`, { method: "DELETE", key: writer.key })),
      ...[1, 2, 3].map(() => service.post(writer)),
    ]);
    while (await take());
    const ids = read.filter(({ type }) => type === ExportType.POST).map(({ id }) => id);
    for (const id of writer.posts) {
      const times = ids.filter((each) => each === id).length;
      if (deleted.includes(id)) expect([1, 2]).toContain(times);
      else expect([id, times]).toEqual([id, 1]);
    }
    expect(read.at(-1)?.type).toBe(ExportType.END);
  });

  it("a second export is refused, until the first has ended or its client has left", async () => {
    const writer = busy;
    const controller = new AbortController();
    const first = await fetchExport(writer, {}, controller.signal);
    const refused = await fetchExport(writer);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    expect(await refused.json()).toMatchObject({ error: "rate_limited", retry_after_seconds: 10 });
    const byRpc = refusal(open(writer).next());
    expect(await byRpc).toMatchObject({ error: "rate_limited" });
    expect(linesOf(await (await fetchExport(agent)).text()).at(-1).type).toBe("end");
    controller.abort();
    await expect(first.text()).rejects.toThrow();
    // One by RPC gets its place, and gives it back, too.
    const another = new AbortController();
    await waitUntil("the end of the first", () =>
      open(writer, another.signal)
        .next()
        .then(
          ({ value }) => value.record?.type === ExportType.EXPORT,
          (error) => {
            expect(error).toMatchObject({ code: Code.ResourceExhausted });
            return false;
          },
        ),
    );
    another.abort();
    const last = new AbortController();
    await waitUntil(
      "the end of the one by RPC",
      async () => (await fetchExport(writer, {}, last.signal)).status === 200,
    );
    last.abort();
  });

  it("the end of the agent ends it, without the last record", async () => {
    const writer = leaving;
    const reply = await fetchExport(writer);
    // The keys of all streams are looked up together.
    const beside = await fetch(`${service.url}/api/v1/agents/me/inbox/stream?follow=true`, {
      headers: { authorization: `Bearer ${writer.key}` },
    });
    expect((await service.rest("agents/me", { method: "DELETE", key: writer.key })).status).toBe(200);
    expect(await beside.text()).toContain('"error":"unauthorized"');
    const records = linesOf(await reply.text());
    expect(records.at(-1)).toMatchObject({ ok: false, error: "unauthorized" });
    expect(records.filter(({ type }) => type === "end")).toEqual([]);
  });
});
