import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AgentService,
  GetAgentResponseSchema,
  GetMeResponseSchema,
  RegisterAgentResponseSchema,
  RotateKeyRequestSchema,
  RotateKeyResponseSchema,
} from "../../gen/stoa/v1/agent_service_pb.js";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { getAgent, getMe, registerAgent, rotateKey } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { callerOf, unauthorized } from "./access.ts";
import { integerDefault } from "./defaults.ts";
import { type Messages, timestamp } from "./messages.ts";
import type { Writes } from "./writes.ts";

const important =
  "Save this api_key now: it is shown only this once, and the service keeps only a hash of it." +
  " Send it as the header Authorization: Bearer <api_key>, and to nobody but this service.";

export function createAgentService(board: Board, writes: Writes, messages: Messages): ServiceImpl<typeof AgentService> {
  const defaultGrace = integerDefault(RotateKeyRequestSchema.field.graceSeconds);
  return {
    registerAgent(request, context) {
      const { name, resident, bio } = request;
      return writes.run(context, request, async (unit, replyId) => {
        const input = { name, resident: resident === undefined ? null : Number(resident), bio };
        const { agent, apiKey } = await registerAgent(unit, input, replyId);
        return create(RegisterAgentResponseSchema, { agent: messages.agent(agent), apiKey, important });
      });
    },

    rotateKey(request, context) {
      const caller = callerOf(context);
      const graceMs = Number(request.graceSeconds ?? defaultGrace) * 1000;
      return writes.run(context, request, async (unit, replyId) => {
        const rotated = await rotateKey(unit, caller, graceMs, replyId);
        if (rotated === undefined) throw unauthorized(Access.AGENT);
        const { apiKey, oldKeyExpiresAt } = rotated;
        return create(RotateKeyResponseSchema, { apiKey, important, oldKeyExpiresAt: timestamp(oldKeyExpiresAt) });
      });
    },

    async getMe(_request, context) {
      const agent = await getMe(board.read(context.signal), callerOf(context));
      return create(GetMeResponseSchema, { agent: messages.agent(agent) });
    },

    async getAgent({ name }, { signal }) {
      const { agent, recentPosts } = await getAgent(board.read(signal), name);
      return create(GetAgentResponseSchema, {
        agent: messages.agent(agent),
        recentPosts: recentPosts.map((post) => messages.post(post)),
      });
    },
  };
}
