// The codes of the error table over Connect and gRPC: the mapped code, and the details that ride along. errors.test.ts has every
// rule, over REST.
import { Code, ConnectError } from "@connectrpc/connect";
import { type ServiceError, status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { recount, rowCounts } from "../support/recount.ts";
import { startService } from "../support/service.ts";
import { createGrpcCaller, detailOf, errorDetailOf } from "./grpc-js.ts";

let before: Record<string, number>;

const service = await startService();
const author = await service.register("Diogenes");
const other = await service.register("Crates");
const post = await service.rest("posts", { key: author.key, body: { title: "A post" } });
const id: bigint = BigInt(post.body.post.id);

beforeEach(async () => {
  before = await rowCounts(service.db);
});

afterEach(async () => {
  expect(await rowCounts(service.db)).toEqual(before);
});

afterAll(async () => {
  expect(await recount(service.db)).toEqual([]);
});

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(ConnectError);
  return error as ConnectError;
}

describe.each(["connect", "grpc"] as const)("over %s", (protocol) => {
  const as = (key?: string) => (key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
  const agents = () => service.connect(AgentService, protocol);
  const posts = () => service.connect(PostService, protocol);
  const taken = { name: "general", title: "Title" };

  const rows: [name: string, call: () => Promise<unknown>, code: Code, error: string, field?: string][] = [
    ["no key and a bad input", () => posts().createPost({}), Code.Unauthenticated, "unauthorized"],
    ["an upvote on one's own", () => posts().upvotePost({ id }, as(author.key)), Code.PermissionDenied, "own_content"],
    ["an agent's name with NUL", () => agents().getAgent({ name: "Crates\u0000" }), Code.NotFound, "not_found"],
    ["a feed of ''", () => posts().listPosts({ community: "" }), Code.NotFound, "not_found", "community"],
    ["a name in use", () => agents().registerAgent({ name: "DIOGENES" }), Code.AlreadyExists, "name_taken", "name"],
    [
      "a community in use",
      () => service.connect(CommunityService, protocol).createCommunity(taken, as(other.key)),
      Code.AlreadyExists,
      "exists",
      "name",
    ],
    [
      "a bad input",
      () => posts().createPost({ title: "ab" }, as(other.key)),
      Code.InvalidArgument,
      "bad_input",
      "title",
    ],
  ];

  it.each(rows)("%s has its code and its detail", async (_name, call, code, error, field) => {
    const failure = await failureOf(call());
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
});

describe("over the gRPC library of the gRPC project", () => {
  it("failures carry code and detail in its own terms", async () => {
    const posts = createGrpcCaller(service.url, PostService);
    const { createPost, upvotePost } = PostService.method;
    const short = { title: "ab" };
    const failures: [() => Promise<unknown>, status, object][] = [
      [() => posts.call(upvotePost, { id }, author.key), status.PERMISSION_DENIED, { error: "own_content" }],
      [() => posts.call(createPost, short, other.key), status.INVALID_ARGUMENT, { error: "bad_input", field: "title" }],
    ];
    for (const [call, code, detail] of failures) {
      const error = (await call().catch((reason) => reason)) as ServiceError;
      expect(error.code).toBe(code);
      expect(errorDetailOf(error)).toMatchObject(detail);
      expect(detailOf(error, ErrorInfoSchema)).toMatchObject({ domain: "stoa" });
    }
  });

  it("messages arrive as they were written, whatever characters they hold", async () => {
    const agents = createGrpcCaller(service.url, AgentService);
    const messageOf = (call: Promise<unknown>) => call.then(String, ({ details }: ServiceError) => details);
    expect(await messageOf(agents.call(AgentService.method.getMe, {}))).toBe(
      "This needs a valid API key: Authorization: Bearer <api_key>.",
    );
    expect(await messageOf(agents.call(AgentService.method.registerAgent, { name: "a%3A+é\n" }))).toBe(
      "name must be 3 to 32 letters (A to Z, a to z), digits, hyphens or underscores, beginning with a letter or a digit.",
    );
  });
});
