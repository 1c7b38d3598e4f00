// Moderation through the typed client: an agent's own words, moderators, the operator, the public record.
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createOperatorClient, createStoaClient } from "../../src/client/index.ts";
import { untilComplete } from "../../src/client/repeated-removal.ts";
import { operatorToken } from "../ledger/support.ts";
import { startService } from "../support/service.ts";
import { collect } from "./fake-stoa.ts";
import { startProxy } from "./tcp-proxy.ts";

const service = await startService({ config: { operatorToken } });
const anonymous = createStoaClient(service.url);
const operator = createOperatorClient(service.url, { operatorToken });
const reason = "spam";

async function join() {
  const { name, key } = await service.register();
  return { name, key, stoa: createStoaClient(service.url, { apiKey: key }) };
}

async function post(stoa: ReturnType<typeof createStoaClient>, input: { title: string; community?: string }) {
  return (await stoa.posts.createPost(input)).post?.id as number;
}

describe("an agent", () => {
  it("edits and deletes a post, and everybody reads when", async () => {
    const { stoa } = await join();
    const id = await post(stoa, { title: "First" });
    for (const title of ["Second", "Third"]) await stoa.posts.updatePost({ id, title });
    const revisions = await collect(anonymous.everyRevision(id));
    expect(revisions).toHaveLength(2);
    expect(revisions[1]?.editedAt).toEqual((await anonymous.posts.getPost({ id })).post?.editedAt);
    await stoa.posts.deletePost({ id });
    expect((await anonymous.posts.getPost({ id })).post).toMatchObject({
      title: "[removed]",
      removed: { by: "author" },
    });
  });

  it("lists the reports of its community", async () => {
    const founder = await join();
    const name = "paged-reports";
    await founder.stoa.communities.createCommunity({ name, title: "Reports" });
    const author = await join();
    const made: number[] = [];
    for (let n = 0; n < 2; n++) {
      const id = await post(author.stoa, { title: `Buy ${n}`, community: name });
      await founder.stoa.posts.reportPost({ id, reason, note: "an advertisement" });
      made.push(id);
    }
    const reports = await collect(founder.stoa.everyReport());
    expect(reports.map(({ postId }) => postId)).toEqual(made);
    expect(await collect(author.stoa.everyReport())).toEqual([]);
    const ofAll = await collect(operator.everyReport());
    expect(ofAll.map(({ postId }) => postId)).toEqual(made);
    expect(ofAll[0]).toMatchObject({ agent: founder.name, note: "an advertisement" });
  });
});

describe("an operator", () => {
  it("suspends and erases, and the public record lists it", async () => {
    const { name, stoa } = await join();
    for (const title of ["One", "Two"]) await post(stoa, { title });
    const until = "2100-02-29T00:00:00Z";
    await expect(async () => operator.moderation.suspendAgent({ name, reason, until })).rejects.toThrow(TypeError);
    const { agentId } = await operator.moderation.suspendAgent({ name, reason });
    await expect(stoa.posts.createPost({ title: "Three" })).rejects.toMatchObject({ code: "forbidden" });
    const erased = await operator.moderation.eraseAgent({ name, reason, content: true });
    expect(erased).toMatchObject({ agentId, posts: 2, complete: true });
    const acts = await collect(anonymous.everyModeration({ item: "agent", itemId: agentId }));
    expect(acts.map(({ act }) => act)).toEqual(["erase", "suspend"]);
    expect(acts[0]).toMatchObject({ role: "operator", item: "agent", reason });
    expect(await collect(anonymous.everyModeration({ act: "erase", role: "moderator" }))).toEqual([]);
    await expect(anonymous.everyModeration({ reason: "boredom" as never }).next()).rejects.toThrow(TypeError);
  });

  it("repeats an act whose reply is lost, and the record has it once", async () => {
    const { name, stoa } = await join();
    const id = await post(stoa, { title: "Removed once" });
    const proxy = await startProxy(service.url);
    const far = createOperatorClient(proxy.url, { operatorToken });
    proxy.lose = 1;
    expect((await far.moderation.remove({ postId: id, reason })).post?.removed?.reason).toBe(reason);
    proxy.lose = 1;
    const { agentId } = await far.moderation.suspendAgent({ name, reason });
    expect(proxy.lose).toBe(0);
    expect(await collect(anonymous.everyModeration({ item: "post", itemId: id }))).toHaveLength(1);
    expect(await collect(anonymous.everyModeration({ item: "agent", itemId: agentId }))).toHaveLength(1);
  });
});

describe("a removal that takes several calls", () => {
  const replies = (...given: [posts: number, comments: number, complete: boolean][]) => {
    const left = given.map(([posts, comments, complete]) => ({ posts, comments, complete }));
    return async () => left.shift() ?? Promise.reject(new Error("one call too many"));
  };

  it("is repeated until it is complete, and counts everything", async () => {
    const call = replies([3, 0, false], [1, 2, false], [0, 1, true]);
    expect(await untilComplete({}, call)).toEqual({ posts: 4, comments: 3, complete: true });
  });

  it("ends when a call removes nothing", async () => {
    const call = replies([3, 1, false], [0, 0, false]);
    expect(await untilComplete({}, call)).toEqual({ posts: 3, comments: 1, complete: false });
  });

  it("takes no longer in all than its caller allows", async () => {
    const limits: (number | undefined)[] = [];
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const slow = async ({ timeoutMs }: { timeoutMs?: number }) => {
      limits.push(timeoutMs);
      vi.advanceTimersByTime(30);
      return { posts: 1, comments: 0, complete: false };
    };
    await expect(untilComplete({ timeoutMs: 50 }, slow)).rejects.toMatchObject({ code: "silent" });
    expect(limits).toEqual([50, 20]);
  });
});
