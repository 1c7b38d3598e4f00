import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import {
  CreatePostRequestSchema,
  CreatePostResponseSchema,
  DeletePostResponseSchema,
  DownvotePostResponseSchema,
  GetPostRequestSchema,
  GetPostResponseSchema,
  GetPostVoteResponseSchema,
  ListPostRevisionsResponseSchema,
  ListPostsRequestSchema,
  ListPostsResponseSchema,
  LockPostResponseSchema,
  type PostService,
  ReportPostResponseSchema,
  RestorePostResponseSchema,
  UnlockPostResponseSchema,
  UpdatePostResponseSchema,
  UpvotePostResponseSchema,
  VotePostResponseSchema,
} from "../../gen/stoa/v1/post_service_pb.js";
import type { Board } from "../board/board.ts";
import { getPostWithComments } from "../board/comments.ts";
import { editPost, listRevisions } from "../board/moderation/edits.ts";
import { removePost, restorePost, setPostLock } from "../board/moderation/posts.ts";
import { reportPost } from "../board/moderation/reports.ts";
import { createPost } from "../board/posts.ts";
import type { Vote } from "../board/votes.ts";
import { callerOf } from "../calls/call.ts";
import { integerDefault, stringDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import type { ApiKeys } from "./api-keys.ts";
import { reasons } from "./enum-words.ts";
import { feedDefaults, readFeed, readSubscribedFeed } from "./feeds.ts";
import { toReport } from "./moderation-mapper.ts";
import { type ResourceMapper, timestamp } from "./resource-mapper.ts";
import { shownAgent } from "./shown-agent.ts";
import { createVoteCalls } from "./votes.ts";

export function createPostService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
  keys: ApiKeys,
): ServiceImpl<typeof PostService> {
  const defaults = feedDefaults(ListPostsRequestSchema.field);
  const defaultComments = integerDefault(GetPostRequestSchema.field.limit);
  const defaultCommunity = stringDefault(CreatePostRequestSchema.field.community);
  const votes = createVoteCalls(board, writes, "post");

  return {
    async listPosts(request, context) {
      if (request.subscribed) {
        const agent = await shownAgent(context, keys);
        const feed = await readSubscribedFeed(board, mapper, context.signal, agent, request, defaults.limit);
        return create(ListPostsResponseSchema, { feed });
      }
      const { signal } = context;
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

    async getPost({ id, limit = defaultComments }, { signal }) {
      const { post, comments, nextCursor } = await getPostWithComments(board.read(signal), Number(id), Number(limit));
      return create(GetPostResponseSchema, {
        post: mapper.post(post),
        comments: comments.map((comment) => mapper.comment(comment)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    updatePost(request, context) {
      const { id, title, body } = request;
      return writes.run(context, request, async (unit) => {
        const post = await editPost(unit, callerOf(context), Number(id), { title, body });
        return create(UpdatePostResponseSchema, { post: mapper.post(post) });
      });
    },

    async listPostRevisions({ id, cursor }, { signal }) {
      const { times, nextCursor } = await listRevisions(board.read(signal), Number(id), cursor);
      return create(ListPostRevisionsResponseSchema, {
        revisions: times.map((time) => ({ editedAt: timestamp(time) })),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    deletePost(request, context) {
      const { id, note } = request;
      const removal = { reason: reasons.optional(request.reason), note };
      return writes.run(context, request, async (unit) => {
        const post = mapper.post(await removePost(unit, callerOf(context), Number(id), removal));
        return create(DeletePostResponseSchema, { post });
      });
    },

    restorePost(request, context) {
      return writes.run(context, request, async (unit) => {
        const post = mapper.post(await restorePost(unit, callerOf(context), Number(request.id)));
        return create(RestorePostResponseSchema, { post });
      });
    },

    lockPost(request, context) {
      return writes.run(context, request, async (unit) => {
        const post = await setPostLock(unit, callerOf(context), Number(request.id), true);
        return create(LockPostResponseSchema, { post: mapper.post(post) });
      });
    },

    unlockPost(request, context) {
      return writes.run(context, request, async (unit) => {
        const post = await setPostLock(unit, callerOf(context), Number(request.id), false);
        return create(UnlockPostResponseSchema, { post: mapper.post(post) });
      });
    },

    reportPost(request, context) {
      const { id, note } = request;
      // The contract requires the reason.
      const reason = reasons.word(request.reason as ModerationReason);
      return writes.run(context, request, async (unit) => {
        const row = await reportPost(unit, callerOf(context), Number(id), { reason, note });
        return create(ReportPostResponseSchema, { report: toReport(row, true) });
      });
    },

    async getPostVote(request, context) {
      return create(GetPostVoteResponseSchema, { result: await votes.read(request, context) });
    },

    upvotePost(request, context) {
      return votes.write(request, 1, context, (result) => create(UpvotePostResponseSchema, { result }));
    },

    downvotePost(request, context) {
      return votes.write(request, -1, context, (result) => create(DownvotePostResponseSchema, { result }));
    },

    votePost(request, context) {
      return votes.write(request, request.vote as Vote, context, (result) =>
        create(VotePostResponseSchema, { result }),
      );
    },
  };
}
