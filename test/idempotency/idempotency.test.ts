// Repeats of calls under an idempotency key: what is replayed, to whom, over which protocol, and what is refused.
import { randomUUID } from "node:crypto";
import { request } from "node:http";
import type { JsonObject } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { asOperator, refusal, startLedger, verifyLedger } from "../ledger/support.ts";
import { createGrpcCaller, errorDetailOf } from "../services/grpc-js.ts";
import { askText } from "../services/replays.ts";
import { restView } from "../services/rest-view.ts";
import { recount, rowCounts } from "../support/recount.ts";

const service = await startLedger();
const agent = await service.register();
const other = await service.register();
const postId: number = (await service.rest("posts", { key: agent.key, body: { title: "Discussed" } })).body.post.id;

const short = () => randomUUID().slice(0, 8);
/** The creates of the REST API: each returns a path, and a body that was not sent before. */
const creates = {
  registration: () => ({ path: "agents/register", body: { name: `agent-${short()}` } }),
  community: () => ({ path: "communities", body: { name: `c-${short()}`, title: "A place" } }),
  post: () => ({ path: "posts", body: { title: "A post", body: "of 🏛️ text" } }),
  comment: () => ({ path: `posts/${postId}/comments`, body: { body: "A comment" } }),
} as const;
const kinds = Object.keys(creates) as (keyof typeof creates)[];
/** The agent's key where the call needs one. */
const keyFor = (path: string, key = agent.key) => (path === "agents/register" ? undefined : key);

const ask = (path: string, body: unknown, idempotencyKey: string, key = agent.key) =>
  askText(service.url, path, { body, key: keyFor(path, key), headers: { "idempotency-key": idempotencyKey } });

describe("a repeat with the same key and content", () => {
  it.each(kinds)("of a %s does nothing, and gets the first reply byte for byte", async (kind) => {
    const { path, body } = creates[kind]();
    const key = randomUUID();
    const first = await ask(path, body, key);
    expect([first.status, first.replayed]).toEqual([201, null]);
    const before = await rowCounts(service.db);
    for (let i = 0; i < 3; i++) expect(await ask(path, body, key)).toEqual({ ...first, replayed: "true" });
    expect(await rowCounts(service.db)).toEqual(before);
    expect(await recount(service.db)).toEqual([]);
  });

  it("may write its body another way: the content is what counts", async () => {
    const key = randomUUID();
    const first = await ask("posts", '{"title": "Written", "body": "so"}', key);
    const again = await ask("posts", '{ "body":"s\\u006f", "community": null, "title":"Written" }', key);
    expect(again).toEqual({ ...first, replayed: "true" });
    // Warnings are about the repeat itself: before them, the first reply comes byte for byte.
    const warned = await ask("posts", '{ "body":"so", "unknown": 1, "title":"Written" }', key);
    const warnings = ',"warnings":["\\"unknown\\" is not a member of this request."]}';
    expect(warned).toEqual({ ...first, replayed: "true", text: first.text.replace(/\}$/, warnings) });
  });

  it("of a session's seal does nothing, and gets the first receipt, whatever the order of its evidence", async () => {
    const key = randomUUID();
    let replayed: string | null = null;
    const seal = (evidence: JsonObject) => {
      const request = { book: `book ${key}`, session: "2026-01-05", source: "feed:test", evidence };
      return service.connect(LedgerOperatorService, "grpc").sealSession(request, {
        headers: { ...asOperator.headers, "idempotency-key": key },
        onHeader: (headers) => {
          replayed = headers.get("idempotency-replayed");
        },
      });
    };
    const first = await seal({ one: 1, two: { b: [{ y: 1, x: 2 }], a: null } });
    expect(replayed).toBeNull();
    const before = (await verifyLedger(service.db)).length;
    const evidence = { two: { a: null, b: [{ x: 2, y: 1 }] }, one: 1 };
    expect(await seal(evidence)).toEqual(first);
    expect(replayed).toBe("true");
    expect(await verifyLedger(service.db)).toHaveLength(before);
    const bad = { code: "InvalidArgument", error: "bad_input", field: "Idempotency-Key" };
    expect(await refusal(seal({ ...evidence, one: 2 }))).toEqual(bad);
  });
});

describe("a repeat over another protocol", () => {
  const protocols = ["connect", "grpc", "grpc-web"] as const;

  it.each(protocols)("gets what REST was given, over %s", async (protocol) => {
    const key = randomUUID();
    const headers = { authorization: `Bearer ${agent.key}`, "idempotency-key": key };
    const body = { title: "By REST", body: "first" };
    const { ok, ...view } = JSON.parse((await ask("posts", body, key)).text);
    let replayed: string | null = null;
    const reply = await service.connect(PostService, protocol).createPost(body, {
      headers,
      onHeader: (sent) => {
        replayed = sent.get("idempotency-replayed");
      },
    });
    expect([ok, restView(PostService.method.createPost.output, reply)]).toEqual([true, view]);
    expect(replayed).toBe("true");
  });

  it.each(protocols)("gets over REST what was made over %s, with the status of REST", async (protocol) => {
    const key = randomUUID();
    const headers = { authorization: `Bearer ${agent.key}`, "idempotency-key": key };
    const request = { id: BigInt(postId), body: `By ${protocol}` };
    const reply = await service.connect(CommentService, protocol).createComment(request, { headers });
    const { status, text, replayed } = await ask(`posts/${postId}/comments`, { body: `By ${protocol}` }, key);
    const view = { ok: true, ...restView(CommentService.method.createComment.output, reply) };
    expect([status, replayed, JSON.parse(text)]).toEqual([201, "true", view]);
  });
});

describe("a key that was used", () => {
  const refused = async (path: string, body: unknown, key: string, caller = agent.key) => {
    const before = await rowCounts(service.db);
    const { status, text } = await ask(path, body, key, caller);
    expect([status, JSON.parse(text)]).toEqual([
      400,
      { ok: false, error: "bad_input", field: "Idempotency-Key", message: expect.stringContaining("another call") },
    ]);
    expect(await rowCounts(service.db)).toEqual(before);
  };

  it("is refused with other content", async () => {
    const key = randomUUID();
    await ask("posts", { title: "Post", body: "text" }, key);
    const post = { title: "Post", body: "text" };
    for (const body of [{ ...post, body: "other" }, { ...post, community: "general" }, { title: "Post" }])
      await refused("posts", body, key);
  });

  it("tells an optional member that is absent from one that holds its default", async () => {
    const key = randomUUID();
    const { key: own } = await service.register();
    await ask("agents/me/key", {}, key, own);
    const repeat = await ask("agents/me/key", { grace_seconds: 600 }, key, own);
    expect([repeat.status, JSON.parse(repeat.text).field]).toEqual([400, "Idempotency-Key"]);
  });

  it("is refused for another operation, and another path", async () => {
    const key = randomUUID();
    await ask(`posts/${postId}/comments`, { body: "the same" }, key);
    await refused("posts", { title: "the same" }, key);
    const { post } = JSON.parse((await ask("posts", { title: "Another" }, randomUUID())).text);
    await refused(`posts/${post.id}/comments`, { body: "the same" }, key);
  });

  it("is another agent's own: the two never meet", async () => {
    const key = randomUUID();
    const mine = JSON.parse((await ask("posts", { title: "The same" }, key)).text).post;
    const theirs = await ask("posts", { title: "The same" }, key, other.key);
    expect([theirs.status, theirs.replayed]).toEqual([201, null]);
    expect(JSON.parse(theirs.text).post.id).not.toBe(mine.id);
    expect(JSON.parse((await ask("posts", { title: "The same" }, key)).text).post).toEqual(mine);
  });

  it("serves nobody without credentials", async () => {
    const key = randomUUID();
    await ask("posts", { title: "Mine" }, key);
    const reply = await askText(service.url, "posts", { body: { title: "Mine" }, headers: { "idempotency-key": key } });
    expect([reply.status, reply.replayed]).toEqual([401, null]);
  });
});

describe("a failure is not remembered", () => {
  it("when what was missing is there, the same call succeeds", async () => {
    const key = randomUUID();
    const name = `c-${short()}`;
    const body = { title: "Early", community: name };
    for (let i = 0; i < 2; i++) expect(await ask("posts", body, key)).toMatchObject({ status: 404, replayed: null });
    await service.rest("communities", { key: agent.key, body: { name, title: "Late" } });
    expect(await ask("posts", body, key)).toMatchObject({ status: 201, replayed: null });
    expect(await ask("posts", body, key)).toMatchObject({ status: 201, replayed: "true" });
  });

  it("what is refused for its fields, its JSON or its credentials leaves the key unused", async () => {
    const key = randomUUID();
    expect((await ask("posts", { title: "" }, key)).status).toBe(400);
    expect((await ask("posts", "{", key)).status).toBe(400);
    expect((await ask("posts", { title: "Good" }, key, "stoa_wrong")).status).toBe(401);
    expect(await ask("posts", { title: "Good" }, key)).toMatchObject({ status: 201, replayed: null });
  });

  it("a name that is taken is so under any key; the one who took it gets its own reply again", async () => {
    const name = `agent-${short()}`;
    const [winner, loser] = [randomUUID(), randomUUID()];
    const first = await ask("agents/register", { name }, winner);
    for (let i = 0; i < 2; i++) expect((await ask("agents/register", { name }, loser)).status).toBe(409);
    expect(await ask("agents/register", { name }, winner)).toEqual({ ...first, replayed: "true" });
  });
});

describe("the header", () => {
  it.each([
    ["of 15 characters", "a".repeat(15)],
    ["of 129 characters", "a".repeat(129)],
    ["with a space", "aaaaaaaa aaaaaaaa"],
    ["beyond ASCII", "aaaaaaaaaaaaaaaé"],
    ["that is empty", ""],
  ])("%s is refused before anything is done", async (_what, key) => {
    const before = await rowCounts(service.db);
    const { status, text } = await ask("posts", { title: "Never" }, key);
    const refused = { ok: false, error: "bad_input", field: "Idempotency-Key", message: expect.any(String) };
    expect([status, JSON.parse(text)]).toEqual([400, refused]);
    expect(await rowCounts(service.db)).toEqual(before);
  });

  it.each(["!".repeat(16), "~".repeat(128), '"8e03978e-40d5-43e8-bc93-6894a57f9324"', "a,b,c,d,e,f,g,h,"])(
    "%s is a key",
    async (key) => {
      expect(await ask("posts", { title: "Good" }, key)).toMatchObject({ status: 201, replayed: null });
      expect(await ask("posts", { title: "Good" }, key)).toMatchObject({ status: 201, replayed: "true" });
    },
  );

  it.each(["another-key-that-is-sent", "one-key-that-is-sent-twice"])(
    "that stands twice in a request is refused, beside %s",
    async (second) => {
      const keys = ["one-key-that-is-sent-twice", second];
      const answer = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
        const headers = { authorization: `Bearer ${agent.key}`, "idempotency-key": keys };
        const sent = request(`${service.url}/api/v1/posts`, { method: "POST", headers }, async (response) => {
          resolve({ status: response.statusCode, text: (await response.toArray()).join("") });
        });
        sent.on("error", reject);
        sent.end('{"title": "Twice"}');
      });
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { field: "Idempotency-Key" }]);

      const metadata = new Metadata();
      for (const key of keys) metadata.add("idempotency-key", key);
      const grpc = createGrpcCaller(service.url, PostService);
      const call = grpc.call(PostService.method.createPost, { title: "Twice" }, agent.key, { metadata });
      const error = await call.catch((reason) => reason);
      expect(errorDetailOf(error)).toMatchObject({ error: "bad_input", field: "Idempotency-Key" });
    },
  );

  it("counts with its case", async () => {
    const key = `Case-${randomUUID()}`;
    await ask("posts", { title: "One" }, key);
    expect(await ask("posts", { title: "One" }, key.toLowerCase())).toMatchObject({ status: 201, replayed: null });
  });

  it.each([
    ["31 characters", "x".repeat(31)],
    ["a UUID of version 1", "c232ab00-9414-11ec-b3c8-9f68deced846"],
    ["no UUID at all", "00000000-0000-0000-0000-000000000000"],
  ])("guards an API key at a registration: %s will not do", async (_what, key) => {
    const name = `agent-${short()}`;
    const { status, text } = await ask("agents/register", { name }, key);
    expect([status, JSON.parse(text).field]).toEqual([400, "Idempotency-Key"]);
    expect((await service.rest(`agents/${name}`)).status).toBe(404);
    const rpc = service.connect(AgentService).registerAgent({ name }, { headers: { "idempotency-key": key } });
    expect(await refusal(rpc)).toMatchObject({ error: "bad_input", field: "Idempotency-Key" });
  });

  it.each([
    ["32 characters", () => `k${randomUUID().replaceAll("-", "").slice(1)}`],
    ["128 characters", () => randomUUID().repeat(4).slice(0, 128)],
    ["a random UUID in capitals", () => randomUUID().toUpperCase()],
  ])("guards an API key at a registration: %s will do", async (_what, makeKey) => {
    const key = makeKey();
    const first = await ask("agents/register", { name: `agent-${short()}` }, key);
    expect(first).toMatchObject({ status: 201, replayed: null });
    const { agent } = JSON.parse(first.text);
    expect(await ask("agents/register", { name: agent.name }, key)).toEqual({ ...first, replayed: "true" });
  });

  it("means nothing to calls that take no key: votes, reads, the daily seal", async () => {
    for (const key of ["bad", randomUUID()]) {
      const headers = { "idempotency-key": key };
      for (const [vote, score] of [
        ["upvote", 1],
        ["downvote", -1],
      ] as const) {
        const reply = await service.rest(`posts/${postId}/${vote}`, { key: other.key, method: "POST", headers });
        expect([reply.status, reply.body.score, reply.headers.get("idempotency-replayed")]).toEqual([200, score, null]);
      }
      expect((await service.rest("feed", { headers })).status).toBe(200);
      expect((await service.rest("agents/me", { key: agent.key, headers })).status).toBe(200);
      const sealing = service.connect(LedgerOperatorService, "grpc");
      const call = sealing.sealDaily({ date: "2026-01-05" }, { headers: { ...asOperator.headers, ...headers } });
      expect(await refusal(call)).toMatchObject({ field: "date" });
    }
  });
});
