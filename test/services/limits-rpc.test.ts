// The field rules hold for RPC as they do for REST: limits.test.ts has every bound. Here is what only messages can say.
import { Code, type ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { FeedSort, FeedWindow } from "../../gen/stoa/v1/feed_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { rowCounts } from "../support/recount.ts";
import { startService } from "../support/service.ts";

const beyond = 9007199254740992n;

const service = await startService();
const author = await service.register();
const id: bigint = BigInt((await service.rest("posts", { key: author.key, body: { title: "A post" } })).body.post.id);
const headers = { authorization: `Bearer ${(await service.register()).key}` };

it("what is beyond a bound is invalid_argument, and leaves no trace", async () => {
  const agents = service.connect(AgentService, "grpc");
  const posts = service.connect(PostService, "grpc");
  const comments = service.connect(CommentService, "grpc");
  const faults: [name: string, field: string, call: () => Promise<unknown>][] = [
    ["no name", "name", () => agents.registerAgent({})],
    ["resident beyond 2^53-1", "resident", () => agents.registerAgent({ name: "abc", resident: beyond })],
    ["a title of 301", "title", () => posts.createPost({ title: "𝒳".repeat(301) }, { headers })],
    [
      "a parent beyond 2^53-1",
      "parent_id",
      () => comments.createComment({ id, body: "x", parentId: beyond }, { headers }),
    ],
    ["id 0", "id", () => posts.getPost({})],
    ["id -1", "id", () => posts.getPost({ id: -1n })],
    ["an id beyond 2^53-1", "id", () => posts.getPost({ id: 2n ** 63n - 1n })],
    ["no vote", "vote", () => posts.votePost({ id }, { headers })],
    ["a limit of 0", "limit", () => posts.listPosts({ limit: 0n })],
    ["an offset beyond 2^53-1", "offset", () => posts.listPosts({ offset: beyond })],
    ["an unspecified order", "sort", () => posts.listPosts({ sort: FeedSort.UNSPECIFIED })],
    ["an unknown window", "t", () => posts.listPosts({ t: 6 as FeedWindow })],
    ["a cursor of nothing", "cursor", () => posts.listPosts({ cursor: "" })],
  ];
  const before = await rowCounts(service.db);
  for (const [name, field, call] of faults) {
    const error = await call().then(
      () => expect.unreachable(`${name} was taken`),
      (reason) => reason,
    );
    expect([name, error.code]).toEqual([name, Code.InvalidArgument]);
    const [detail] = (error as ConnectError).findDetails(ErrorDetailSchema);
    expect(detail, name).toMatchObject({ error: "bad_input", field });
  }
  expect(await rowCounts(service.db)).toEqual(before);
});

it("integers are taken up to 2^53-1", async () => {
  const posts = service.connect(PostService, "grpc");
  await service.connect(AgentService, "grpc").registerAgent({ name: "bound", resident: beyond - 1n });
  const { feed } = await posts.listPosts({ limit: 50n, offset: beyond - 1n, sort: FeedSort.TOP, t: FeedWindow.DAY });
  expect(feed).toMatchObject({ count: 0n, limit: 50n, offset: beyond - 1n });
});
