import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CommentService,
  type CommentSort,
  CommentSortSchema,
  CreateCommentResponseSchema,
  DeleteCommentResponseSchema,
  DownvoteCommentResponseSchema,
  GetCommentResponseSchema,
  GetCommentVoteResponseSchema,
  ListCommentsRequestSchema,
  ListCommentsResponseSchema,
  ListRepliesRequestSchema,
  ListRepliesResponseSchema,
  ReportCommentResponseSchema,
  RestoreCommentResponseSchema,
  UpdateCommentResponseSchema,
  UpvoteCommentResponseSchema,
  VoteCommentResponseSchema,
} from "../../gen/stoa/v1/comment_service_pb.js";
import type { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import type { Board } from "../board/board.ts";
import { createComment, listComments, type CommentSort as SortName } from "../board/comments.ts";
import { removeComment, restoreComment, showComment } from "../board/moderation/comments.ts";
import { editComment } from "../board/moderation/edits.ts";
import { reportComment } from "../board/moderation/reports.ts";
import { listReplies } from "../board/replies.ts";
import type { Vote } from "../board/votes.ts";
import { callerOf } from "../calls/call.ts";
import { enumDefault, integerDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import { reasons, wordsOf } from "./enum-words.ts";
import { toReport } from "./moderation-mapper.ts";
import type { ResourceMapper } from "./resource-mapper.ts";
import { createVoteCalls } from "./votes.ts";

const sorts = wordsOf<CommentSort, SortName>(CommentSortSchema);

export function createCommentService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
): ServiceImpl<typeof CommentService> {
  const defaultLimit = integerDefault(ListCommentsRequestSchema.field.limit);
  const defaultReplies = integerDefault(ListRepliesRequestSchema.field.limit);
  const defaultSort = enumDefault<CommentSort>(ListCommentsRequestSchema.field.sort);
  const votes = createVoteCalls(board, writes, "comment");
  return {
    async listComments({ id, limit = defaultLimit, cursor, sort = defaultSort, from }, { signal }) {
      const query = {
        limit: Number(limit),
        cursor,
        sort: sorts.word(sort),
        ...(from !== undefined && { from: Number(from) }),
      };
      const { comments, nextCursor } = await listComments(board.read(signal), Number(id), query);
      return create(ListCommentsResponseSchema, {
        comments: comments.map((comment) => mapper.comment(comment)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    async getComment({ id }, { signal }) {
      const comment = await showComment(board.read(signal), Number(id));
      return create(GetCommentResponseSchema, { comment: mapper.comment(comment) });
    },

    async listReplies({ id, limit = defaultReplies, cursor }, { signal }) {
      const query = { limit: Number(limit), cursor };
      const { comments, nextCursor } = await listReplies(board.read(signal), Number(id), query);
      return create(ListRepliesResponseSchema, {
        comments: comments.map((comment) => mapper.comment(comment)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    createComment(request, context) {
      const { id, body, parentId } = request;
      return writes.run(context, request, async (unit) => {
        const input = { postId: Number(id), body, parentId: parentId === undefined ? null : Number(parentId) };
        const comment = await createComment(unit, callerOf(context), input);
        return create(CreateCommentResponseSchema, { comment: mapper.comment(comment) });
      });
    },

    async getCommentVote(request, context) {
      return create(GetCommentVoteResponseSchema, { result: await votes.read(request, context) });
    },

    upvoteComment(request, context) {
      return votes.write(request, 1, context, (result) => create(UpvoteCommentResponseSchema, { result }));
    },

    downvoteComment(request, context) {
      return votes.write(request, -1, context, (result) => create(DownvoteCommentResponseSchema, { result }));
    },

    voteComment(request, context) {
      return votes.write(request, request.vote as Vote, context, (result) =>
        create(VoteCommentResponseSchema, { result }),
      );
    },

    updateComment(request, context) {
      const { id, body } = request;
      return writes.run(context, request, async (unit) => {
        const comment = await editComment(unit, callerOf(context), Number(id), body);
        return create(UpdateCommentResponseSchema, { comment: mapper.comment(comment) });
      });
    },

    deleteComment(request, context) {
      const { id, note } = request;
      const removal = { reason: reasons.optional(request.reason), note };
      return writes.run(context, request, async (unit) => {
        const comment = mapper.comment(await removeComment(unit, callerOf(context), Number(id), removal));
        return create(DeleteCommentResponseSchema, { comment });
      });
    },

    restoreComment(request, context) {
      return writes.run(context, request, async (unit) => {
        const comment = mapper.comment(await restoreComment(unit, callerOf(context), Number(request.id)));
        return create(RestoreCommentResponseSchema, { comment });
      });
    },

    reportComment(request, context) {
      const { id, note } = request;
      // The contract requires the reason.
      const reason = reasons.word(request.reason as ModerationReason);
      return writes.run(context, request, async (unit) => {
        const row = await reportComment(unit, callerOf(context), Number(id), { reason, note });
        return create(ReportCommentResponseSchema, { report: toReport(row, true) });
      });
    },
  };
}
