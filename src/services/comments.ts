import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CommentService,
  CreateCommentResponseSchema,
  DeleteCommentResponseSchema,
  GetCommentResponseSchema,
  ListCommentsRequestSchema,
  ListCommentsResponseSchema,
  ReportCommentResponseSchema,
  RestoreCommentResponseSchema,
  UpdateCommentResponseSchema,
} from "../../gen/stoa/v1/comment_service_pb.js";
import type { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import type { Board } from "../board/board.ts";
import { createComment, listComments } from "../board/comments.ts";
import { showComment } from "../board/moderation/comments.ts";
import { editComment } from "../board/moderation/edits.ts";
import { reportComment } from "../board/moderation/reports.ts";
import { callerOf } from "../calls/callers.ts";
import { integerDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import { toReport } from "./moderation-mapper.ts";
import { reasons } from "./moderation-words.ts";
import type { Removals } from "./removals.ts";
import type { ResourceMapper } from "./resource-mapper.ts";

export function createCommentService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
  removals: Removals,
): ServiceImpl<typeof CommentService> {
  const defaultLimit = integerDefault(ListCommentsRequestSchema.field.limit);
  return {
    async listComments({ id, limit = defaultLimit, cursor }, { signal }) {
      const query = { limit: Number(limit), cursor };
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

    createComment(request, context) {
      const { id, body, parentId } = request;
      return writes.run(context, request, async (unit) => {
        const input = { postId: Number(id), body, parentId: parentId === undefined ? null : Number(parentId) };
        const comment = await createComment(unit, callerOf(context), input);
        return create(CreateCommentResponseSchema, { comment: mapper.comment(comment) });
      });
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
        const comment = await removals.removeComment(unit, callerOf(context), id, removal);
        return create(DeleteCommentResponseSchema, { comment });
      });
    },

    restoreComment(request, context) {
      return writes.run(context, request, async (unit) => {
        const comment = await removals.restoreComment(unit, callerOf(context), request.id);
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
