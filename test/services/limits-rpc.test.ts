// The field rules hold for RPC as they do for REST. errors-rpc.test.ts compares the protocols.
import { Code, type ConnectError } from "@connectrpc/connect";
import { beforeAll, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { FeedSort, FeedWindow } from "../../gen/stoa/v1/feed_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { rowCounts } from "../support/recount.ts";
import { type Service, startService } from "../support/service.ts";

const beyond = 9007199254740992n;
const astral = "𝒳";

let service: Service;
let headers: { authorization: string };
let id: bigint;

beforeAll(async () => {
  service = await startService();
  const author = await service.register();
  id = BigInt((await service.rest("posts", { key: author.key, body: { title: "A post" } })).body.post.id);
  headers = { authorization: `Bearer ${(await service.register()).key}` };
});

describe("over gRPC", () => {
  const protocol = "grpc";
  const agents = () => service.connect(AgentService, protocol);
  const communities = () => service.connect(CommunityService, protocol);
  const posts = () => service.connect(PostService, protocol);
  const comments = () => service.connect(CommentService, protocol);
  const title = "Title";

  const faults: [name: string, field: string, call: () => Promise<unknown>][] = [
    ["no name", "name", () => agents().registerAgent({})],
    ["a short name", "name", () => agents().registerAgent({ name: "ab" })],
    ["a name of 33", "name", () => agents().registerAgent({ name: "a".repeat(33) })],
    ["resident 0", "resident", () => agents().registerAgent({ name: "abc", resident: 0n })],
    ["resident beyond 2^53-1", "resident", () => agents().registerAgent({ name: "abc", resident: beyond })],
    ["a bio of 281", "bio", () => agents().registerAgent({ name: "abc", bio: astral.repeat(281) })],
    [
      "a community's name of 25",
      "name",
      () => communities().createCommunity({ name: "a".repeat(25), title }, { headers }),
    ],
    [
      "a community's title of 2",
      "title",
      () => communities().createCommunity({ name: "abc", title: "ab" }, { headers }),
    ],
    [
      "a title of 61",
      "title",
      () => communities().createCommunity({ name: "abc", title: astral.repeat(61) }, { headers }),
    ],
    [
      "a description of 501",
      "description",
      () => communities().createCommunity({ name: "abc", title, description: astral.repeat(501) }, { headers }),
    ],
    ["a post's title of 301", "title", () => posts().createPost({ title: astral.repeat(301) }, { headers })],
    ["a post's body of 10,001", "body", () => posts().createPost({ title, body: astral.repeat(10_001) }, { headers })],
    ["an empty comment", "body", () => comments().createComment({ id, body: "" }, { headers })],
    ["a comment of 5,001", "body", () => comments().createComment({ id, body: astral.repeat(5_001) }, { headers })],
    [
      "a parent beyond 2^53-1",
      "parent_id",
      () => comments().createComment({ id, body: "x", parentId: beyond }, { headers }),
    ],
    ["id 0", "id", () => posts().getPost({})],
    ["id -1", "id", () => posts().getPost({ id: -1n })],
    ["an id beyond 2^53-1", "id", () => posts().getPost({ id: 2n ** 63n - 1n })],
    ["no id of a vote", "id", () => posts().upvotePost({}, { headers })],
    ["no vote", "vote", () => posts().votePost({ id }, { headers })],
    ["a vote of 2", "vote", () => posts().votePost({ id, vote: 2 }, { headers })],
    ["a limit of 0", "limit", () => posts().listPosts({ limit: 0n })],
    ["a limit of 51", "limit", () => communities().listCommunityPosts({ name: "general", limit: 51n })],
    ["a limit of 1,001 comments", "limit", () => comments().listComments({ id, limit: 1001n })],
    ["an offset of -1", "offset", () => posts().listPosts({ offset: -1n })],
    ["an offset beyond 2^53-1", "offset", () => posts().listPosts({ offset: beyond })],
    ["an unspecified order", "sort", () => posts().listPosts({ sort: FeedSort.UNSPECIFIED })],
    ["an unspecified window", "t", () => posts().listPosts({ t: FeedWindow.UNSPECIFIED })],
    ["an unknown order", "sort", () => communities().listCommunityPosts({ name: "general", sort: 4 as FeedSort })],
    ["an unknown window", "t", () => communities().listCommunityPosts({ name: "general", t: 6 as FeedWindow })],
    ["a cursor of nothing", "cursor", () => posts().listPosts({ cursor: "" })],
  ];

  it("what is beyond a bound is invalid_argument, and leaves no trace", async () => {
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

  it("takes everything at its bound", async () => {
    const name = `bound-${protocol}`.padEnd(32, "x");
    await agents().registerAgent({ name, resident: beyond - 1n, bio: astral.repeat(280) });
    const place = `bound-${protocol}`.padEnd(24, "x");
    const texts = { title: astral.repeat(60), description: astral.repeat(500) };
    await communities().createCommunity({ name: place, ...texts }, { headers });
    const post = { title: astral.repeat(300), body: astral.repeat(10_000), community: place };
    const created = await posts().createPost(post, { headers });
    expect(created.post).toMatchObject(post);
    const { comment } = await comments().createComment({ id, body: astral.repeat(5_000) }, { headers });
    expect(comment?.body).toBe(astral.repeat(5_000));
    const { feed } = await posts().listPosts({
      limit: 50n,
      offset: beyond - 1n,
      sort: FeedSort.TOP,
      t: FeedWindow.DAY,
    });
    expect(feed).toMatchObject({ count: 0n, limit: 50n, offset: beyond - 1n });
  });
});
