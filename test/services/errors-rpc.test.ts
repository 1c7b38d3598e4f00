// What RPCs are told of a failure: the mapped code, the details that ride along, and the field that a message has wrong.
// errors.test.ts has the rules of the board, limits.test.ts the bounds, both over REST.
import { Code, ConnectError } from "@connectrpc/connect";
import type { ServiceError } from "@grpc/grpc-js";
import { afterAll, describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { FeedSort, FeedWindow } from "../../gen/stoa/v1/feed_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { operatorToken } from "../support/moderation.ts";
import { recount, rowCounts } from "../support/recount.ts";
import { startService } from "../support/service.ts";
import { createGrpcCaller, detailOf, errorDetailOf } from "./grpc-js.ts";

const service = await startService({ config: { operatorToken } });
const author = await service.register("Diogenes");
const other = await service.register("Crates");
const post = await service.rest("posts", { key: author.key, body: { title: "A post" } });
const id: bigint = BigInt(post.body.post.id);

/** Nothing in this file may write: what is refused leaves no trace. */
const before = await rowCounts(service.db);
afterAll(async () => {
  expect(await rowCounts(service.db)).toEqual(before);
  expect(await recount(service.db)).toEqual([]);
});

const as = ({ key }: { key: string }) => ({ headers: { authorization: `Bearer ${key}` } });
const agents = service.connect(AgentService, "grpc");
const posts = service.connect(PostService, "grpc");
const comments = service.connect(CommentService, "grpc");
const ledger = service.connect(LedgerService, "grpc");
const communities = service.connect(CommunityService, "grpc");
const beyond = 2n ** 53n;

type Failing = [name: string, call: () => Promise<unknown>, code: Code, error: string, field?: string];
const failing: Failing[] = [
  ["no key and a bad input", () => posts.createPost({}), Code.Unauthenticated, "unauthorized"],
  ["an upvote on one's own", () => posts.upvotePost({ id }, as(author)), Code.PermissionDenied, "own_content"],
  ["an agent's name with NUL", () => agents.getAgent({ name: "Crates\u0000" }), Code.NotFound, "not_found"],
  ["a feed of ''", () => posts.listPosts({ community: "" }), Code.NotFound, "not_found", "community"],
  ["a name in use", () => agents.registerAgent({ name: "DIOGENES" }), Code.AlreadyExists, "name_taken", "name"],
  [
    "a community in use",
    () => communities.createCommunity({ name: "general", title: "Title" }, as(other)),
    Code.AlreadyExists,
    "exists",
    "name",
  ],
  ...(["connect", "grpc"] as const).map((protocol): Failing => {
    const call = () => service.connect(PostService, protocol).createPost({ title: "ab" }, as(other));
    return [`a bad input over ${protocol}`, call, Code.InvalidArgument, "bad_input", "title"];
  }),
  // What only messages can say.
  ...(
    [
      ["resident", () => agents.registerAgent({ name: "abc", resident: beyond })],
      ["id", () => posts.getPost({ id: 2n ** 63n - 1n })],
      ["seq", () => ledger.getReceipt({ seq: beyond })],
      ["parent_id", () => comments.createComment({ id, parentId: beyond, body: "A body" }, as(other))],
      ["offset", () => posts.listPosts({ offset: beyond })],
      ["vote", () => posts.votePost({ id }, as(other))],
      ["sort", () => posts.listPosts({ sort: FeedSort.UNSPECIFIED })],
      ["t", () => posts.listPosts({ t: 6 as FeedWindow })],
    ] as const
  ).map(([field, call]): Failing => [`a bad ${field}`, call, Code.InvalidArgument, "bad_input", field]),
];

it.each(failing)("%s has its code and its details", async (_name, call, code, error, field) => {
  const failure = ConnectError.from(await call().catch((reason) => reason));
  expect(Code[failure.code]).toBe(Code[code]);
  const details = failure.findDetails(ErrorDetailSchema);
  expect(details).toHaveLength(1);
  expect(details[0]).toMatchObject({ error });
  expect(details[0]?.field).toBe(field);
  expect(details[0]?.retryAfterSeconds).toBe(undefined);
  expect(failure.rawMessage).toMatch(/./);
  const reason = error.toUpperCase();
  const metadata = field === undefined ? {} : { field };
  expect(failure.findDetails(ErrorInfoSchema)).toMatchObject([{ reason, domain: "stoa", metadata }]);
  const violation = { field, description: failure.rawMessage, reason };
  const violations = error === "bad_input" ? [{ fieldViolations: [violation] }] : [];
  expect(failure.findDetails(BadRequestSchema)).toMatchObject(violations);
  expect(failure.findDetails(RetryInfoSchema)).toEqual([]);
});

it("integers are taken up to 2^53-1", async () => {
  const query = { limit: 50n, offset: beyond - 1n, sort: FeedSort.TOP, t: FeedWindow.DAY };
  expect((await posts.listPosts(query)).feed).toMatchObject({ count: 0n, limit: 50n, offset: beyond - 1n });
});

it("the gRPC library of the gRPC project reads details, and messages of whatever characters", async () => {
  const caller = createGrpcCaller(service.url, AgentService);
  const call = caller.call(AgentService.method.registerAgent, { name: "a%3A+é\n" });
  const error = (await call.catch((reason) => reason)) as ServiceError;
  expect(error.details).toBe(
    "name must be 3 to 32 letters (A to Z, a to z), digits, hyphens or underscores, beginning with a letter or a digit.",
  );
  expect(errorDetailOf(error)).toMatchObject({ error: "bad_input", field: "name" });
  expect(detailOf(error, ErrorInfoSchema)).toMatchObject({ domain: "stoa" });
});

// Connect would ignore names of enum values that the contract does not have.
describe("a message in JSON", () => {
  async function call(rpc: string, message: string, type = "application/json", isGet = false) {
    const authorization = `Bearer ${/Operator|Moderation/.test(rpc) ? operatorToken : other.key}`;
    const url = `${service.url}/stoa.v1.${rpc}`;
    const query = `?connect=v1&encoding=json&message=${encodeURIComponent(message)}`;
    const reply = await (isGet
      ? fetch(url + query, { headers: { authorization } })
      : fetch(url, { method: "POST", headers: { authorization, "content-type": type }, body: message }));
    return { status: reply.status, text: await reply.text() };
  }

  const sort = "sort must be FEED_SORT_HOT, FEED_SORT_NEW or FEED_SORT_TOP.";
  const seal = { book: "b", session: "2026-01-02", source: "s" };
  // Each kind of field: of each type, within others, in a list.
  it.each<[rpc: string, message: object, field: string, says: string]>([
    ["PostService/ListPosts", { sort: "best" }, "sort", sort],
    ["PostService/ListPosts", { sort: {} }, "sort", sort],
    ["PostService/ListPosts", { limit: "x" }, "limit", "limit must be an integer from 1 to 50."],
    ["PostService/ListPosts", { subscribed: 1 }, "subscribed", "subscribed must be true or false."],
    ["PostService/CreatePost", { title: 7, body: 7 }, "title", "title must be a string."],
    ["ModerationService/SuspendAgent", { until: 7 }, "until", "until must be a time as in RFC 3339."],
    ["ModerationService/UpdateCommunity", { appoint: "x" }, "appoint", "appoint must be an array."],
    ["ModerationService/UpdateCommunity", { appoint: [7] }, "appoint", "Each entry of appoint must be a string."],
    ["LedgerOperatorService/SealSessions", { sessions: [7] }, "sessions", "Each entry of sessions must be an object."],
    [
      "LedgerOperatorService/SealSessions",
      { sessions: [seal, { ...seal, book: 7 }] },
      "sessions[1].book",
      "sessions[1].book must be a string.",
    ],
  ])("to %s, %j, names the field and what it takes", async (rpc, message, field, says) => {
    const detail = expect.objectContaining({ debug: { error: "bad_input", field } });
    const expected = { code: "invalid_argument", message: says, details: expect.arrayContaining([detail]) };
    for (const isGet of rpc.endsWith("/ListPosts") ? [false, true] : [false]) {
      const { status, text } = await call(rpc, JSON.stringify(message), undefined, isGet);
      expect([status, JSON.parse(text)]).toMatchObject([400, expected]);
    }
  });

  it("is no list, although lists have members of their own", async () => {
    const { status, text } = await call("PostService/ListPosts", "[7]");
    expect([status, JSON.parse(text).message]).toEqual([400, expect.stringContaining("cannot decode message")]);
  });

  it("may have unknown members, and gRPC-Web says the same", async () => {
    const good = await call("PostService/ListPosts", '{"sort": "FEED_SORT_NEW", "t": null, "other": "x"}');
    expect(good.status).toBe(200);
    const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, 16]), Buffer.from('{"sort": "best"}')]);
    const grpcWeb = await call("PostService/ListPosts", envelope.toString("latin1"), "application/grpc-web+json");
    expect(grpcWeb.text).toMatch(/^grpc-status: 3\r$/m);
    expect(decodeURIComponent(grpcWeb.text.replace(/[^ -~\n]/g, ""))).toContain(`grpc-message: ${sort}`);
  });
});

it("an error quotes only the beginning of a long name", async () => {
  const name = "\u00e9".repeat(60_000);
  for (const [path, message] of [
    ["stoa.v1.PostService/ListPosts", `{"${name}":1,"${name}":1}`],
    ["api/v1/agents/register", `{"${name}":1,"${name}":1}`],
    ["api/v1/agents/register", `{"name":"abc","${name}":1}`],
  ]) {
    const headers = { "content-type": "application/json" };
    const reply = await fetch(`${service.url}/${path}`, { method: "POST", headers, body: message as string });
    expect(reply.status).toBe(400);
    const text = await reply.text();
    expect(text).toContain("éé");
    expect(text.length).toBeLessThan(2_000);
  }
});
