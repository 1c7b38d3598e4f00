import type { Metadata } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { createGrpcCaller, detailOf, errorDetailOf } from "../services/grpc-js.ts";
import { startLimited } from "../support/limited.ts";

/** A list of strings with integer parameters, in the order and manner of RFC 9651. */
const policyForm = /^"[a-z]+";q=[1-9]\d*;w=[1-9]\d*(?:, "[a-z]+";q=[1-9]\d*;w=[1-9]\d*)*$/;
const stateForm = /^"[a-z]+";r=\d+;t=\d+(?:, "[a-z]+";r=\d+;t=\d+)*$/;

const names = (field: string | null) => [...(field ?? "").matchAll(/"([a-z]+)"/g)].map(([, name]) => name);

function check(get: (name: string) => string | null) {
  const [policies, state] = [get("ratelimit-policy"), get("ratelimit")];
  expect(policies).toMatch(policyForm);
  expect(state).toMatch(stateForm);
  // What is said of a state is said of a policy that is named.
  expect(names(policies)).toEqual(expect.arrayContaining(names(state)));
  return { policies: names(policies), states: names(state) };
}

const service = await startLimited();
const { key } = await service.register();

describe("every reply of REST", () => {
  const post = (body: unknown) => ({ key, body });
  const guess = (letters: string) => ({ key: `stoa_${letters}`, body: {} });
  it.each([
    ["a read", () => service.rest("feed"), 200, ["reads"], ["reads"]],
    ["a read of a known agent", () => service.rest("feed", { key }), 200, ["calls"], ["calls"]],
    ["a write", () => service.rest("posts", post({ title: "More" })), 201, ["posts", "calls"], ["posts", "calls"]],
    ["bad JSON", () => service.rest("posts", post("{")), 400, ["posts", "calls"], ["calls"]],
    ["a large body", () => service.rest("posts", post("x".repeat(300_000))), 413, ["posts", "calls"], ["calls"]],
    ["no key", () => service.rest("posts", { body: { title: "Who?" } }), 401, ["refusals", "posts"], ["refusals"]],
    ["a wrong key", () => service.rest("posts", guess("A".repeat(43))), 401, ["credentials", "posts"], ["credentials"]],
    ["what cannot be a key", () => service.rest("posts", guess("no")), 401, ["refusals", "posts"], ["refusals"]],
    ["no such route", () => service.rest("nothing"), 404, ["reads"], ["reads"]],
    ["a HEAD", () => service.rest("feed", { method: "HEAD" }), 200, ["reads"], ["reads"]],
    ["a preflight", () => service.rest("feed", { method: "OPTIONS" }), 204, ["refusals"], ["refusals"]],
    ["a verification", () => service.rest("/house/verify"), 200, ["reads"], ["reads"]],
  ] as const)("has both header fields: %s", async (_, ask, status, policies, states) => {
    const reply = await ask();
    expect(reply.status).toBe(status);
    const said = check((name) => reply.headers.get(name));
    expect(said.policies.sort()).toEqual([...policies].sort());
    expect(said.states).toEqual(states);
  });

  it("has both header fields: a 304, a stream, events, a page, compressed replies", async () => {
    const receipt = `${service.url}/api/v1/house/receipts/1`;
    const { headers } = await fetch(receipt);
    const unchanged = await fetch(receipt, { headers: { "if-none-match": headers.get("etag") as string } });
    expect(unchanged.status).toBe(304);
    const replies = [
      unchanged,
      await fetch(`${service.url}/api/v1/house/receipts/stream`),
      await fetch(`${service.url}/api/v1/house/receipts/stream`, { headers: { accept: "text/event-stream" } }),
      await fetch(`${service.url}/`, { headers: { accept: "text/html" } }),
      await fetch(`${service.url}/no/page`, { headers: { accept: "text/html" } }),
      await fetch(`${service.url}/api/v1/feed`, { headers: { "accept-encoding": "br" } }),
    ];
    for (const reply of replies) {
      check((name) => reply.headers.get(name));
      await reply.arrayBuffer();
    }
  });
});

describe("every reply of the RPC protocols", () => {
  it.each(["connect", "grpc", "grpc-web"] as const)("has both as metadata: %s", async (protocol) => {
    const seen: Headers[] = [];
    const options = { onHeader: (headers: Headers) => void seen.push(headers) };
    const signed = { ...options, headers: { authorization: `Bearer ${key}` } };
    await service.connect(PostService, protocol).listPosts({}, options);
    await service.connect(PostService, protocol).createPost({ title: "By RPC" }, signed);
    for await (const _ of service.connect(LedgerService, protocol).streamReceipts({}, options));
    expect(seen.map((headers) => check((name) => headers.get(name)).states)).toEqual([
      ["reads"],
      ["posts", "calls"],
      ["reads"],
    ]);
    const failures = [
      () => service.connect(AgentService, protocol).getAgent({ name: "nobody" }),
      () => service.connect(AgentService, protocol).getMe({}),
      () => service.connect(PostService, protocol).createPost({ title: "" }, signed),
    ];
    for (const failure of failures) {
      const { metadata } = await failure().then(
        () => expect.unreachable(),
        (error) => error,
      );
      check((name) => metadata.get(name));
    }
  });

  it("has both in grpc-js, and a refusal has its detail", async () => {
    const { db, clock } = service;
    const limited = await startLimited({ posts: { calls: 1, windowSeconds: 7 } }, { db, clock });
    const agent = await limited.register();
    const posts = createGrpcCaller(limited.url, PostService);
    const create = () => {
      const begun = Promise.withResolvers<Metadata>();
      const call = posts.call(PostService.method.createPost, { title: "By grpc-js" }, agent.key, {
        onMetadata: begun.resolve,
      });
      return { call, begun: begun.promise };
    };
    const first = create();
    await first.call;
    const metadata = await first.begun;
    expect(check((name) => String(metadata.get(name)[0])).states).toEqual(["posts", "calls"]);
    const failure = await create().call.catch((error) => error);
    expect(failure.code).toBe(8);
    expect(errorDetailOf(failure)).toMatchObject({ error: "rate_limited", retryAfterSeconds: 7n });
    expect(detailOf(failure, RetryInfoSchema)?.retryDelay).toMatchObject({ seconds: 7n, nanos: 0 });
    expect(failure.metadata.get("retry-after")).toEqual(["7"]);
  });
});
