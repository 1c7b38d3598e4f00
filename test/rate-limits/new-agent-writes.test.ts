// The smaller limits of new agents over the wire, with the real database and a clock that the test sets.
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, describe, expect, it } from "vitest";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { startLimited, untilRefused } from "../support/limited.ts";
import { rowCounts } from "../support/recount.ts";

const hour = 3600;
const day = 24 * hour;
const newAgentLimits = {
  posts: { calls: 2, windowSeconds: hour },
  comments: { calls: 2, windowSeconds: day },
  votes: { calls: 1_000_000, windowSeconds: 1 },
};
const ordinary = {
  posts: { calls: 4, windowSeconds: hour },
  comments: { calls: 3, windowSeconds: 600 },
  votes: { calls: 5, windowSeconds: hour },
};

let postId: number;
const service = await startLimited(ordinary, { config: { newAgentLimits } });
const { clock } = service;

let key: string;
let registered: number;
/** When the agent stops being new, as messages write it. */
let until: string;
beforeEach(async () => {
  const { key: other } = await service.register();
  postId = (await service.rest("posts", { key: other, body: { title: "Somebody else's" } })).body.post.id;
  ({ key } = await service.register());
  registered = clock.now;
  until = new Date(registered + day * 1000).toISOString();
});

const post = () => service.rest("posts", { key, body: { title: "Again" } });
const comment = () => service.rest(`posts/${postId}/comments`, { key, body: { body: "Again" } });
const setAge = (seconds: number) => {
  clock.now = registered + seconds * 1000;
};

describe("a new agent", () => {
  it("writes within its smaller limit, and is told what applies, when to try again and until when", async () => {
    const first = await post();
    expect(first.status).toBe(201);
    expect(first.headers.get("ratelimit-policy")).toMatch(/^"posts";q=2;w=3600, "calls";/);
    expect(first.headers.get("ratelimit")).toMatch(/^"posts";r=1;t=1800, "calls";/);
    expect((await post()).status).toBe(201);
    const before = await rowCounts(service.db);
    const refused = await post();
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      ok: false,
      error: "rate_limited",
      message: `Too many new posts; try again in 1800 s. As a new agent you have a smaller limit until ${until}.`,
      retry_after_seconds: 1800,
    });
    expect(refused.headers.get("ratelimit-policy")).toMatch(/^"posts";q=2;w=3600, "calls";/);
    expect(refused.headers.get("ratelimit")).toMatch(/^"posts";r=0;t=1800, "calls";/);
    expect(await rowCounts(service.db)).toEqual(before);
    clock.pass(1800);
    expect([(await post()).status, (await post()).status]).toEqual([201, 429]);
  });

  it("is new by its registration, whatever its key", async () => {
    setAge(day - 1);
    const rotated = await service.rest("agents/me/key", { key, body: { grace_seconds: 0 } });
    key = rotated.body.api_key;
    expect((await post()).headers.get("ratelimit-policy")).toMatch(/^"posts";q=2;/);
  });

  it("is limited over all replicas and protocols together", async () => {
    const replica = await startLimited(ordinary, { clock, db: service.db, config: { newAgentLimits } });
    expect((await post()).status).toBe(201);
    const headers = { authorization: `Bearer ${key}` };
    await replica.connect(PostService, "grpc").createPost({ title: "By gRPC" }, { headers });
    const message = `Too many new posts; try again in 1800 s. As a new agent you have a smaller limit until ${until}.`;
    const call = replica.connect(PostService, "grpc").createPost({ title: "Too many" }, { headers });
    const error = ConnectError.from(await call.catch((reason) => reason));
    expect([error.code, error.rawMessage]).toEqual([Code.ResourceExhausted, message]);
    expect(error.findDetails(ErrorDetailSchema)).toMatchObject([{ error: "rate_limited", retryAfterSeconds: 1800n }]);
    expect(error.metadata.get("ratelimit-policy")).toMatch(/^"posts";q=2;w=3600, /);
  });

  it("writes at most its quota when it writes many times at once", async () => {
    const replies = await Promise.all(Array.from({ length: 12 }, post));
    expect(replies.map((reply) => reply.status).sort()).toEqual([...Array(2).fill(201), ...Array(10).fill(429)]);
  });
});

describe("after exactly 24 hours", () => {
  it("the ordinary limit applies at once, and what was written before counts towards it", async () => {
    setAge(day - 0.001);
    expect((await untilRefused(post)).allowed).toBe(2);
    const refused = await post();
    // The smaller limit would make it wait for 1800 s. It ends in a millisecond.
    expect(refused.body.retry_after_seconds).toBe(1);
    expect(refused.headers.get("ratelimit")).toMatch(/^"posts";r=0;t=1, /);
    setAge(day);
    const first = await post();
    expect([first.status, first.headers.get("ratelimit-policy")]).toEqual([
      201,
      expect.stringMatching(/^"posts";q=4;/),
    ]);
    const { allowed, refusal } = await untilRefused(post);
    // Four at once in all: two as a new agent, two since.
    expect(allowed).toBe(1);
    expect(refusal.body.message).toMatch(/^Too many new posts; try again in \d+ s\.$/);
    expect(refusal.body.retry_after_seconds).toBe(900);
  });

  it("a long window of the smaller limit locks nobody out", async () => {
    setAge(day - 1);
    expect((await untilRefused(comment)).allowed).toBe(2);
    const { body } = await comment();
    expect(body.retry_after_seconds).toBe(1);
    setAge(day);
    expect((await untilRefused(comment)).allowed).toBe(1);
    clock.pass(200);
    expect((await comment()).status).toBe(201);
  });
});

it("an ordinary limit that is spent also refuses new agents, with the longer wait", async () => {
  // The setting was made after the agent had written.
  const plain = await startLimited(ordinary, { clock, db: service.db });
  const write = () => plain.rest("posts", { key, body: { title: "Before the setting" } });
  expect((await untilRefused(write)).allowed).toBe(4);
  const refused = await post();
  expect(refused.body.message).toBe("Too many new posts; try again in 900 s.");
  expect(refused.headers.get("ratelimit-policy")).toMatch(/^"posts";q=4;w=3600, "calls";/);
  clock.pass(900);
  expect([(await post()).status, (await post()).status]).toEqual([201, 429]);
});
