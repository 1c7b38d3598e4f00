import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  CreatePostResponseSchema,
  DownvotePostResponseSchema,
  GetPostResponseSchema,
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
import { callerOf } from "./access.ts";
import { readFeed } from "./feeds.ts";
import type { Messages } from "./messages.ts";

const defaultCommunity = "general";

export function createPostService(board: Board, messages: Messages): ServiceImpl<typeof PostService> {
  /** `reply` makes the response of the RPC; it runs within the unit of work. */
  const vote = <Reply>(id: bigint, vote: Vote, context: HandlerContext, reply: (result: VoteResult) => Reply) =>
    board.write(context.signal, async (unit) => {
      const outcome = await votePost(unit, callerOf(context), Number(id), vote);
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
      const feed = await readFeed(board, messages, signal, { ...request, communityField: "community" });
      return create(ListPostsResponseSchema, { feed });
    },

    createPost({ title, body, community = defaultCommunity }, context) {
      return board.write(context.signal, async (unit) => {
        const post = await createPost(unit, callerOf(context), { title, body, community });
        return create(CreatePostResponseSchema, { post: messages.post(post) });
      });
    },

    async getPost({ id }, { signal }) {
      const { post, page } = await getPost(board.read(signal), Number(id));
      return create(GetPostResponseSchema, {
        post: messages.post(post),
        comments: page.comments.map((comment) => messages.comment(comment)),
        ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
      });
    },

    upvotePost({ id }, context) {
      return vote(id, 1, context, (result) => create(UpvotePostResponseSchema, { result }));
    },

    downvotePost({ id }, context) {
      return vote(id, -1, context, (result) => create(DownvotePostResponseSchema, { result }));
    },

    votePost(request, context) {
      return vote(request.id, request.vote as Vote, context, (result) => create(VotePostResponseSchema, { result }));
    },
  };
}
