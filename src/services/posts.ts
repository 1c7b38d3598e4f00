import { create, type Message } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  CreatePostRequestSchema,
  CreatePostResponseSchema,
  DownvotePostResponseSchema,
  GetPostResponseSchema,
  ListPostsRequestSchema,
  ListPostsResponseSchema,
  type PostService,
  UpvotePostResponseSchema,
  VotePostResponseSchema,
  type VoteResult,
  VoteResultSchema,
} from "../../gen/stoa/v1/post_service_pb.js";
import type { Board } from "../board/board.ts";
import { createPost, getPost } from "../board/posts.ts";
import { type Vote, votePost } from "../board/votes.ts";
import { callerOf } from "../calls/callers.ts";
import { stringDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import { feedDefaults, readFeed } from "./feeds.ts";
import type { ResourceMapper } from "./resource-mapper.ts";

export function createPostService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
): ServiceImpl<typeof PostService> {
  const defaults = feedDefaults(ListPostsRequestSchema.field);
  const defaultCommunity = stringDefault(CreatePostRequestSchema.field.community);
  /** `reply` makes the response of the RPC; it runs within the unit of work. */
  const vote = <Reply extends Message>(
    request: Message & { id: bigint },
    vote: Vote,
    context: HandlerContext,
    reply: (result: VoteResult) => Reply,
  ) =>
    writes.run(context, request, async (unit) => {
      const outcome = await votePost(unit, callerOf(context), Number(request.id), vote);
      return reply(
        create(VoteResultSchema, {
          yourVote: outcome.vote,
          score: BigInt(outcome.upvotes - outcome.downvotes),
          upvotes: BigInt(outcome.upvotes),
          downvotes: BigInt(outcome.downvotes),
        }),
      );
    });

  return {
    async listPosts(request, { signal }) {
      const feed = await readFeed(board, mapper, signal, { ...request, communityField: "community" }, defaults);
      return create(ListPostsResponseSchema, { feed });
    },

    createPost(request, context) {
      const { title, body, community = defaultCommunity } = request;
      return writes.run(context, request, async (unit) => {
        const post = await createPost(unit, callerOf(context), { title, body, community });
        return create(CreatePostResponseSchema, { post: mapper.post(post) });
      });
    },

    async getPost({ id }, { signal }) {
      const { post, page } = await getPost(board.read(signal), Number(id));
      return create(GetPostResponseSchema, {
        post: mapper.post(post),
        comments: page.comments.map((comment) => mapper.comment(comment)),
        ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
      });
    },

    upvotePost(request, context) {
      return vote(request, 1, context, (result) => create(UpvotePostResponseSchema, { result }));
    },

    downvotePost(request, context) {
      return vote(request, -1, context, (result) => create(DownvotePostResponseSchema, { result }));
    },

    votePost(request, context) {
      return vote(request, request.vote as Vote, context, (result) => create(VotePostResponseSchema, { result }));
    },
  };
}
