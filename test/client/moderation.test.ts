// Moderation through the typed client: an agent's own words, moderators, the operator, the public record.
import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { EraseAgentResponseSchema, RemoveAgentContentResponseSchema } from "../../gen/stoa/v1/moderation_service_pb.js";
import { createOperatorClient, createStoaClient } from "../../src/client/index.ts";
import { untilComplete } from "../../src/client/repeated-removal.ts";
import { operatorToken } from "../ledger/support.ts";
import { serveHttp } from "../support/http-server.ts";
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
  type Removed = [posts: bigint, comments: bigint, complete: boolean];

  /** An operator whose service answers so, one call after another. */
  async function operatorWith(schema: DescMessage, ...replies: Removed[]) {
    const bodies = replies.map(([posts, comments, complete]) =>
      toBinary(schema, create(schema, { posts, comments, complete } as never)),
    );
    const { url } = await serveHttp((_, response) => {
      response.setHeader("content-type", "application/proto").end(bodies.shift());
    });
    return { bodies, moderation: createOperatorClient(url, { operatorToken }).moderation };
  }

  it("is repeated until it is complete, and counts everything", async () => {
    const replies: Removed[] = [[3n, 0n, false], [1n, 2n, false], [0n, 1n, true]]; // biome-ignore format: one reply each
    const { moderation } = await operatorWith(RemoveAgentContentResponseSchema, ...replies);
    const removed = await moderation.removeAgentContent({ name: "Zeno", reason });
    expect(removed).toMatchObject({ posts: 4, comments: 3, complete: true });
  });

  it("ends when a call removes nothing", async () => {
    const { moderation, bodies } = await operatorWith(
      EraseAgentResponseSchema,
      [3n, 1n, false],
      [0n, 0n, false],
      [1n, 0n, true],
    );
    const erased = await moderation.eraseAgent({ name: "Zeno", reason, content: true });
    expect(erased).toMatchObject({ posts: 3, comments: 1, complete: false });
    expect(bodies).toHaveLength(1);
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
