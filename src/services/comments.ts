import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CommentService,
  CreateCommentResponseSchema,
  ListCommentsRequestSchema,
  ListCommentsResponseSchema,
} from "../../gen/stoa/v1/comment_service_pb.js";
import type { Board } from "../board/board.ts";
import { createComment, listComments } from "../board/comments.ts";
import { callerOf } from "../calls/callers.ts";
import { integerDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import type { ResourceMapper } from "./resource-mapper.ts";

export function createCommentService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
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

    createComment(request, context) {
      const { id, body, parentId } = request;
      return writes.run(context, request, async (unit) => {
        const input = { postId: Number(id), body, parentId: parentId === undefined ? null : Number(parentId) };
        const comment = await createComment(unit, callerOf(context), input);
        return create(CreateCommentResponseSchema, { comment: mapper.comment(comment) });
      });
    },
  };
}
