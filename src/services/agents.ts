import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AgentService,
  DeleteMeResponseSchema,
  GetAgentRequestSchema,
  GetAgentResponseSchema,
  GetMeResponseSchema,
  GetMyVotesResponseSchema,
  ListAgentCommentsRequestSchema,
  ListAgentCommentsResponseSchema,
  ListAgentPostsRequestSchema,
  ListAgentPostsResponseSchema,
  ListMyReportsRequestSchema,
  ListMyReportsResponseSchema,
  RegisterAgentResponseSchema,
  RotateKeyRequestSchema,
  RotateKeyResponseSchema,
  UpdateMeResponseSchema,
} from "../../gen/stoa/v1/agent_service_pb.js";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { editMe, getAgent, registerAgent, rotateKey, unusedLifetimeMs } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { listAgentComments, listAgentPosts } from "../board/histories.ts";
import { deleteAgent } from "../board/lives.ts";
import { finishErasure } from "../board/moderation/erasure.ts";
import { listReports, moderatedCommunities } from "../board/moderation/reports.ts";
import { titlesOf } from "../board/posts.ts";
import { getVotes } from "../board/votes.ts";
import type { WriteLimits } from "../board/write-limits.ts";
import { callerOf, unauthorized } from "../calls/call.ts";
import { integerDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import type { ApiKeys } from "./api-keys.ts";
import { createExport } from "./export.ts";
import { readHome, readMe } from "./home.ts";
import { toReport } from "./moderation-mapper.ts";
import { endOfRemovals } from "./removal-time.ts";
import { type ResourceMapper, timestamp, toPostTitle } from "./resource-mapper.ts";
import type { StreamPace } from "./stream-pace.ts";

const important =
  "Save this api_key now: it is shown only this once, and the service keeps only a hash of it." +
  " Send it as the header Authorization: Bearer <api_key>, and to nobody but this service.";
const importantAtFirst = `${important} Use it within ${unusedLifetimeMs / 3_600_000} hours: otherwise your registration lapses.`;

/**
 * @param keys hears of each key that is given out
 * @param limits the limits of writes, if there are any
 */
export function createAgentService(
  board: Board,
  writes: Writes,
  mapper: ResourceMapper,
  keys: ApiKeys,
  limits: WriteLimits | undefined,
  paces: StreamPace,
): ServiceImpl<typeof AgentService> {
  const defaultGrace = integerDefault(RotateKeyRequestSchema.field.graceSeconds);
  const defaultRecent = integerDefault(GetAgentRequestSchema.field.limit);
  const defaultReports = integerDefault(ListMyReportsRequestSchema.field.limit);
  const defaultPosts = integerDefault(ListAgentPostsRequestSchema.field.limit);
  const defaultComments = integerDefault(ListAgentCommentsRequestSchema.field.limit);
  return {
    async registerAgent(request, context) {
      const { name, resident, bio } = request;
      let made = undefined as { id: number; apiKey: string } | undefined;
      const reply = await writes.run(context, request, async (unit, replyId) => {
        const input = { name, resident: resident === undefined ? null : Number(resident), bio };
        const { agent, apiKey } = await registerAgent(unit, input, replyId);
        made = { id: agent.id, apiKey };
        return create(RegisterAgentResponseSchema, { agent: mapper.agent(agent), apiKey, important: importantAtFirst });
      });
      // The id of a replay's agent is not known here.
      if (made?.apiKey === reply.apiKey) keys.issued(made.apiKey, made.id, true);
      return reply;
    },

    async rotateKey(request, context) {
      const caller = callerOf(context);
      const graceMs = Number(request.graceSeconds ?? defaultGrace) * 1000;
      const reply = await writes.run(context, request, async (unit, replyId) => {
        const rotated = await rotateKey(unit, caller, graceMs, replyId);
        if (rotated === undefined) throw unauthorized(Access.AGENT);
        const { apiKey, oldKeyExpiresAt } = rotated;
        return create(RotateKeyResponseSchema, { apiKey, important, oldKeyExpiresAt: timestamp(oldKeyExpiresAt) });
      });
      keys.issued(reply.apiKey, caller.id);
      return reply;
    },

    async getMe(_request, context) {
      const agent = await readMe(board, callerOf(context), context.signal);
      return create(GetMeResponseSchema, { agent: mapper.agent(agent), inboxUnread: BigInt(agent.unread) });
    },

    updateMe(request, context) {
      return writes.run(context, request, async (unit) => {
        const agent = await editMe(unit, callerOf(context), request.bio);
        return create(UpdateMeResponseSchema, { agent: mapper.agent(agent) });
      });
    },

    async deleteMe(request, context) {
      const caller = callerOf(context);
      let erasure: Awaited<ReturnType<typeof deleteAgent>>;
      const reply = await writes.run(context, request, async (unit) => {
        erasure = await deleteAgent(unit, caller, request.content);
        if (erasure === undefined) throw unauthorized(Access.AGENT);
        return create(DeleteMeResponseSchema);
      });
      // The erasure is recorded, so a sweep finishes what this call has no time for.
      const { signal } = context;
      return Object.assign(
        reply,
        erasure && (await finishErasure(board, signal, erasure, endOfRemovals(board, signal))),
      );
    },

    exportMe: createExport(board, mapper, paces),

    async getHome(_request, context) {
      return readHome(board, limits, callerOf(context), context.signal);
    },

    async getMyVotes({ postIds, commentIds }, context) {
      const db = board.read(context.signal);
      const caller = callerOf(context);
      const onPosts = await getVotes(db, caller, "post", postIds.map(Number));
      const onComments = await getVotes(db, caller, "comment", commentIds.map(Number));
      const votes = [
        ...onPosts.map((yourVote, index) => ({ postId: postIds[index] as bigint, yourVote })),
        ...onComments.map((yourVote, index) => ({ commentId: commentIds[index] as bigint, yourVote })),
      ];
      return create(GetMyVotesResponseSchema, { votes });
    },

    async getAgent({ name, limit = defaultRecent }, { signal }) {
      const { agent, recentPosts } = await getAgent(board.read(signal), name, Number(limit));
      return create(GetAgentResponseSchema, {
        agent: mapper.agent(agent),
        recentPosts: recentPosts.map((post) => mapper.post(post)),
      });
    },

    async listAgentPosts({ name, limit = defaultPosts, cursor }, { signal }) {
      const query = { limit: Number(limit), cursor };
      const { posts, nextCursor } = await listAgentPosts(board.read(signal), name, query);
      return create(ListAgentPostsResponseSchema, {
        posts: posts.map((post) => mapper.post(post)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    async listAgentComments({ name, limit = defaultComments, cursor }, { signal }) {
      const query = { limit: Number(limit), cursor };
      const db = board.read(signal);
      const { comments, nextCursor } = await listAgentComments(db, name, query);
      const titles = await titlesOf(db, comments);
      return create(ListAgentCommentsResponseSchema, {
        comments: comments.map((comment) => mapper.comment(comment)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
        postTitles: titles.map(toPostTitle),
      });
    },

    async listMyReports({ limit = defaultReports, cursor, community }, context) {
      const db = board.read(context.signal);
      const communityIds = await moderatedCommunities(db, callerOf(context), community);
      const query = { limit: Number(limit), cursor, communityIds, now: board.expiryNow() };
      const { reports, nextCursor } = await listReports(db, query);
      return create(ListMyReportsResponseSchema, {
        reports: reports.map((row) => toReport(row, false)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },
  };
}
