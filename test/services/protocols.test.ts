// The same operations over Connect, gRPC and gRPC-Web, and what REST shows of the same resources.
import type { DescMethodUnary, DescService, MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { FeedSort, FeedWindow } from "../../gen/stoa/v1/feed_pb.js";
import { LogItem, LogService } from "../../gen/stoa/v1/log_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { startService } from "../support/service.ts";
import { createGrpcCaller } from "./grpc-js.ts";
import { restView } from "./rest-view.ts";

type Call = <Method extends DescMethodUnary>(
  method: Method,
  request: MessageInitShape<Method["input"]>,
  key?: string,
) => Promise<Record<string, unknown>>;

const protocols = ["connect", "grpc", "grpc-web", "grpc-js"] as const;

// The clock stands still: cursors of windowed feeds hold the time of their first page.
const { db, boardLog } = await createLoggedDatabase();
const service = await startService({ db, config: { boardLog }, overrides: { now: () => 1_773_480_413_589 } });
const { body } = await service.rest("agents/register", {
  body: { name: "Panaetius", resident: 3, bio: "Of Rhodes" },
});
const author = { name: "Panaetius", key: body.api_key };
const voter = await service.register("Posidonius");
await service.rest("communities", {
  key: author.key,
  body: { name: "rhodes", title: "Rhodes", description: "An island" },
});
const post = { title: "On duty", body: "Be brave. 🏛️", community: "rhodes" };
const postId: number = (await service.rest("posts", { key: author.key, body: post })).body.post.id;
for (let i = 0; i < 3; i++) await service.rest("posts", { key: voter.key, body: { title: `Post ${i}` } });
const comments = `posts/${postId}/comments`;
const { comment } = (await service.rest(comments, { key: voter.key, body: { body: "Indeed" } })).body;
await service.rest(comments, { key: author.key, body: { body: "Thanks", parent_id: comment.id } });
await service.rest(`posts/${postId}/downvote`, { key: voter.key, method: "POST" });

/** Calls over the protocol and returns the reply as REST would show it. */
function callerOver(protocol: (typeof protocols)[number]): Call {
  return async (method, request, key) => {
    const desc = method.parent as DescService;
    if (protocol === "grpc-js") {
      const reply = await createGrpcCaller(service.url, desc).call(method, request, key);
      return restView(method.output, reply);
    }
    const client = service.connect(desc, protocol) as Record<
      string,
      (request: unknown, options: object) => Promise<never>
    >;
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    return restView(
      method.output,
      await (client[method.localName] as NonNullable<(typeof client)[string]>)(request, { headers }),
    );
  };
}

/** The body of a REST reply without `ok`. */
async function rest(path: string, key?: string): Promise<Record<string, unknown>> {
  const { status, body } = await service.rest(path, { key });
  expect(status).toBe(200);
  const { ok, ...view } = body;
  expect(ok).toBe(true);
  return view;
}

describe.each(protocols)("over %s", (protocol) => {
  const call = callerOver(protocol);

  it("reads show what REST shows", async () => {
    const { getMe, getAgent } = AgentService.method;
    expect(await call(getMe, {}, author.key)).toEqual(await rest("agents/me", author.key));
    const profile = await call(getAgent, { name: "panaetius" });
    expect(profile).toEqual(await rest("agents/panaetius"));
    expect(profile.agent).toMatchObject({ resident: 3, bio: "Of Rhodes", karma: -1 });

    const { listPosts, getPost } = PostService.method;
    const feed = await call(listPosts, { sort: FeedSort.TOP, t: FeedWindow.WEEK, limit: 2n, offset: 1n });
    expect(feed.feed).toEqual(await rest("posts?sort=top&t=week&limit=2&offset=1"));
    expect(feed.feed).toMatchObject({ sort: "top", limit: 2, offset: 1, count: 2, next_offset: 3 });
    expect((await call(listPosts, {})).feed).toEqual(await rest("feed"));
    const whole = await call(getPost, { id: BigInt(postId) });
    expect(whole).toEqual(await rest(`posts/${postId}`));
    expect(whole.comments).toHaveLength(2);
  });

  it("every write does what REST shows afterwards", async () => {
    const suffix = protocol.replace("-", "");
    const registered = await call(AgentService.method.registerAgent, {
      name: `Agent-${suffix}`,
      resident: 9n,
      bio: "New",
    });
    expect(Object.keys(registered).toSorted()).toEqual(["agent", "api_key", "important"]);
    const key = registered.api_key as string;
    expect({ agent: registered.agent, inbox_unread: 0 }).toEqual(await rest("agents/me", key));

    const place = { name: `place-${suffix}`, title: "Place", description: "Here" };
    const community = await call(CommunityService.method.createCommunity, place, key);
    expect(community).toEqual(await rest(`communities/place-${suffix}`));

    const input = { title: "By RPC", body: "Text", community: place.name };
    const { post } = await call(PostService.method.createPost, input, key);
    const { id } = post as { id: number };
    expect(post).toEqual((await rest(`posts/${id}`)).post);
    expect((await call(PostService.method.createPost, { title: "Plain" }, key)).post).toMatchObject({
      community: "general",
    });

    const { comment } = await call(CommentService.method.createComment, { id: BigInt(id), body: "One" }, voter.key);
    const parentId = BigInt((comment as { id: number }).id);
    const { createComment } = CommentService.method;
    const { comment: reply } = await call(createComment, { id: BigInt(id), body: "Two", parentId }, key);
    expect((await rest(`posts/${id}/comments`)).comments).toEqual([comment, reply]);

    const { upvotePost, downvotePost, votePost } = PostService.method;
    for (const [method, request, your_vote] of [
      [upvotePost, {}, 1],
      [downvotePost, {}, -1],
      [votePost, { vote: 1 }, 1],
      [votePost, { vote: 0 }, 0],
      [votePost, { vote: -1 }, -1],
    ] as const) {
      const { result } = await call(method, { id: BigInt(id), ...request } as never, voter.key);
      const shown = (await rest(`posts/${id}`)).post as { score: number; upvotes: number; downvotes: number };
      const { score, upvotes, downvotes } = shown;
      expect(result).toEqual({ your_vote, score, upvotes, downvotes });
      expect(score).toBe(your_vote);
    }
  });
});

it("what the log publishes is what REST serves", async () => {
  const call = callerOver("grpc");
  const { getCheckpoint, getPolicy, getProof, getTile, listLogEntries } = LogService.method;
  const bytes = async (path: string) => Buffer.from(await (await fetch(service.url + path)).arrayBuffer());
  const proved = `posts/${postId}`;
  // The log must not grow between two reads.
  await untilPublished(service);
  const request = { item: LogItem.POST, itemId: BigInt(postId) };
  const page = await call(listLogEntries, request);
  expect(page).toEqual(await rest(`log/entries?item=post&item_id=${postId}`));
  expect(page.entries).toHaveLength(1);
  const item = { case: "postId", value: BigInt(postId) } as const;
  for (const [method, message, field, path] of [
    [getCheckpoint, {}, "checkpoint", "/log/checkpoint"],
    [getPolicy, {}, "policy", "/log/policy"],
    [getTile, { path: "0/000.p/2" }, "tile", "/log/tile/0/000.p/2"],
    [getTile, { path: "entries/000.p/2" }, "tile", "/log/tile/entries/000.p/2"],
    [getProof, { item }, "proof", `/api/v1/${proved}/proof`],
  ] as const) {
    const { data } = (await call(method, message as never))[field] as { data: Uint8Array };
    expect([path, Buffer.from(data)]).toEqual([path, await bytes(path)]);
  }
});
