import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import {
  EraseAgentResponseSchema,
  ListErasuresResponseSchema,
  ListReportsRequestSchema,
  ListReportsResponseSchema,
  LockResponseSchema,
  type ModerationService,
  RemoveAgentContentRequestSchema,
  RemoveAgentContentResponseSchema,
  RemoveRequestSchema,
  RemoveResponseSchema,
  ResolveReportResponseSchema,
  RestoreResponseSchema,
  RevokeKeysResponseSchema,
  SuspendAgentResponseSchema,
  UnlockResponseSchema,
  UnsuspendAgentResponseSchema,
  UpdateCommunityResponseSchema,
} from "../../gen/stoa/v1/moderation_service_pb.js";
import type { Board } from "../board/board.ts";
import { listCommunitiesOf } from "../board/communities.ts";
import { eraseAgent, getAgentId, revokeAgentKeys, suspendAgent, unsuspendAgent } from "../board/moderation/agents.ts";
import { removeComment, restoreComment } from "../board/moderation/comments.ts";
import { updateCommunity } from "../board/moderation/communities.ts";
import { removeContent } from "../board/moderation/content.ts";
import { finishErasure, listErasures } from "../board/moderation/erasure.ts";
import { removePost, restorePost, setPostLock } from "../board/moderation/posts.ts";
import { listReports, resolveReport } from "../board/moderation/reports.ts";
import type { RemovalRequest } from "../board/moderation/roles.ts";
import { integerDefault } from "../contract/defaults.ts";
import { badInput } from "../errors.ts";
import type { Writes } from "../idempotency/writes.ts";
import { reasons } from "./enum-words.ts";
import { toReport } from "./moderation-mapper.ts";
import { endOfRemovals } from "./removal-time.ts";
import { type ResourceMapper, timestamp } from "./resource-mapper.ts";

/** Moderation by the operator. */
export function createModerationService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
): ServiceImpl<typeof ModerationService> {
  const defaultKeep = integerDefault(RemoveRequestSchema.field.keepForDays);
  const defaultContentKeep = integerDefault(RemoveAgentContentRequestSchema.field.keepForDays);
  const defaultLimit = integerDefault(ListReportsRequestSchema.field.limit);
  const operator = "operator";
  const endOf = (signal: AbortSignal) => endOfRemovals(board, signal);

  return {
    remove(request, context) {
      const { reason, note, keepForDays = defaultKeep } = request;
      const removal = { ...toAct(reason, note), keepForDays: Number(keepForDays) };
      const item = toItem(request);
      return writes.run(context, request, async (unit) => {
        return create(
          RemoveResponseSchema,
          "postId" in item
            ? { post: mapper.post(await removePost(unit, operator, Number(item.postId), removal)) }
            : { comment: mapper.comment(await removeComment(unit, operator, Number(item.commentId), removal)) },
        );
      });
    },

    async removeAgentContent({ name, reason, note, keepForDays = defaultContentKeep }, { signal }) {
      const removal = { ...toAct(reason, note), keepForDays: Number(keepForDays) };
      const endsAt = endOf(signal);
      const agentId = await getAgentId(board.read(signal), name);
      return create(
        RemoveAgentContentResponseSchema,
        await removeContent(board, signal, { agentId, by: operator }, removal, endsAt),
      );
    },

    restore(request, context) {
      const item = toItem(request);
      return writes.run(context, request, async (unit) => {
        return create(
          RestoreResponseSchema,
          "postId" in item
            ? { post: mapper.post(await restorePost(unit, operator, Number(item.postId))) }
            : { comment: mapper.comment(await restoreComment(unit, operator, Number(item.commentId))) },
        );
      });
    },

    lock(request, context) {
      return writes.run(context, request, async (unit) => {
        const post = mapper.post(await setPostLock(unit, operator, Number(request.postId), true));
        return create(LockResponseSchema, { post });
      });
    },

    unlock(request, context) {
      return writes.run(context, request, async (unit) => {
        const post = mapper.post(await setPostLock(unit, operator, Number(request.postId), false));
        return create(UnlockResponseSchema, { post });
      });
    },

    suspendAgent(request, context) {
      const { name, reason, note, until } = request;
      const endsAt = until === undefined ? null : timestampMs(until);
      return writes.run(context, request, async (unit) => {
        const id = await suspendAgent(unit, name, { ...toAct(reason, note), endsAt });
        return create(SuspendAgentResponseSchema, { agentId: BigInt(id) });
      });
    },

    unsuspendAgent(request, context) {
      return writes.run(context, request, async (unit) => {
        const id = await unsuspendAgent(unit, request.name);
        return create(UnsuspendAgentResponseSchema, { agentId: BigInt(id) });
      });
    },

    revokeKeys(request, context) {
      return writes.run(context, request, async (unit) => {
        const id = await revokeAgentKeys(unit, request.name, toAct(request.reason, request.note));
        return create(RevokeKeysResponseSchema, { agentId: BigInt(id) });
      });
    },

    async eraseAgent(request, context) {
      const { signal } = context;
      const { name, reason, note, content } = request;
      let erasure: Awaited<ReturnType<typeof eraseAgent>> | undefined;
      const reply = await writes.run(context, request, async (unit) => {
        erasure = await eraseAgent(unit, name, toAct(reason, note), content);
        return create(EraseAgentResponseSchema, { agentId: BigInt(erasure.item_id) });
      });
      // The erasure is recorded, so a sweep finishes what this call has no time for.
      if (erasure !== undefined) Object.assign(reply, await finishErasure(board, signal, erasure, endOf(signal)));
      if (content) {
        const created = await listCommunitiesOf(board.read(signal), Number(reply.agentId));
        reply.communities = created.map((row) => mapper.community(row));
      }
      return reply;
    },

    async listErasures(_, { signal }) {
      const rows = await listErasures(board.read(signal));
      const erasures = rows.map(({ item_id, began_at, reason }) => ({
        agentId: BigInt(item_id),
        beganAt: timestamp(began_at),
        content: reason !== null,
      }));
      return create(ListErasuresResponseSchema, { erasures });
    },

    updateCommunity(request, context) {
      const { name, title, description, appoint, dismiss } = request;
      return writes.run(context, request, async (unit) => {
        const row = await updateCommunity(unit, name, { title, description, appoint, dismiss });
        return create(UpdateCommunityResponseSchema, { community: mapper.community(row) });
      });
    },

    async listReports({ limit = defaultLimit, cursor }, { signal }) {
      const query = { limit: Number(limit), cursor, now: board.expiryNow() };
      const { reports, nextCursor } = await listReports(board.read(signal), query);
      return create(ListReportsResponseSchema, {
        reports: reports.map((row) => toReport(row, true)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    resolveReport(request, context) {
      return writes.run(context, request, async (unit) => {
        const row = await resolveReport(unit, Number(request.id));
        return create(ResolveReportResponseSchema, { report: toReport(row, true) });
      });
    },
  };
}

/** The contract requires the reason. */
function toAct(reason: ModerationReason | undefined, note: string) {
  return { reason: reasons.word(reason as ModerationReason), note } satisfies RemovalRequest;
}

/** @throws StoaError `bad_input` unless there is exactly one id */
function toItem({ postId, commentId }: { postId?: bigint | undefined; commentId?: bigint | undefined }) {
  if (postId !== undefined && commentId === undefined) return { postId };
  if (commentId !== undefined && postId === undefined) return { commentId };
  throw badInput(postId === undefined ? "post_id" : "comment_id", "Send either post_id or comment_id.");
}
