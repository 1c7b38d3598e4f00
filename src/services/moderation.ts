import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import {
  EraseAgentResponseSchema,
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
import { eraseAgent, revokeAgentKeys, suspendAgent, unsuspendAgent } from "../board/moderation/agents.ts";
import { updateCommunity } from "../board/moderation/communities.ts";
import { setPostLock } from "../board/moderation/posts.ts";
import { listReports, resolveReport } from "../board/moderation/reports.ts";
import type { RemovalRequest } from "../board/moderation/roles.ts";
import { integerDefault } from "../contract/defaults.ts";
import { badInput } from "../errors.ts";
import type { Writes } from "../idempotency/writes.ts";
import { removeContent } from "./content-removal.ts";
import { toReport } from "./moderation-mapper.ts";
import { reasons } from "./moderation-words.ts";
import type { Removals } from "./removals.ts";
import type { ResourceMapper } from "./resource-mapper.ts";

/** Moderation by the operator. */
export function createModerationService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
  removals: Removals,
): ServiceImpl<typeof ModerationService> {
  const defaultKeep = integerDefault(RemoveRequestSchema.field.keepForDays);
  const defaultContentKeep = integerDefault(RemoveAgentContentRequestSchema.field.keepForDays);
  const defaultLimit = integerDefault(ListReportsRequestSchema.field.limit);
  const operator = "operator";

  return {
    remove(request, context) {
      const { reason, note, keepForDays = defaultKeep } = request;
      const removal = { ...toAct(reason, note), keepForDays: Number(keepForDays) };
      const item = toItem(request);
      return writes.run(context, request, async (unit) => {
        return create(
          RemoveResponseSchema,
          "postId" in item
            ? { post: await removals.removePost(unit, operator, item.postId, removal) }
            : { comment: await removals.removeComment(unit, operator, item.commentId, removal) },
        );
      });
    },

    async removeAgentContent({ name, reason, note, keepForDays = defaultContentKeep }, { signal }) {
      const removal = { ...toAct(reason, note), keepForDays: Number(keepForDays) };
      return create(RemoveAgentContentResponseSchema, await removeContent(board, removals, signal, name, removal));
    },

    restore(request, context) {
      const item = toItem(request);
      return writes.run(context, request, async (unit) => {
        return create(
          RestoreResponseSchema,
          "postId" in item
            ? { post: await removals.restorePost(unit, operator, item.postId) }
            : { comment: await removals.restoreComment(unit, operator, item.commentId) },
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
      const { name, reason, note, content } = request;
      const act = toAct(reason, note);
      const reply = await writes.run(context, request, async (unit) => {
        const id = await eraseAgent(unit, name, act);
        return create(EraseAgentResponseSchema, { agentId: BigInt(id), complete: !content });
      });
      if (!content) return reply;
      const removed = await removeContent(board, removals, context.signal, name, { ...act, keepForDays: 0 });
      return create(EraseAgentResponseSchema, { agentId: reply.agentId, ...removed });
    },

    updateCommunity(request, context) {
      const { name, title, description, appoint, dismiss } = request;
      return writes.run(context, request, async (unit) => {
        const row = await updateCommunity(unit, name, { title, description, appoint, dismiss });
        return create(UpdateCommunityResponseSchema, { community: mapper.community(row) });
      });
    },

    async listReports({ limit = defaultLimit, cursor }, { signal }) {
      const { reports, nextCursor } = await listReports(board.read(signal), { limit: Number(limit), cursor });
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
