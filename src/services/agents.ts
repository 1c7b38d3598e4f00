import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AgentService,
  GetAgentResponseSchema,
  GetMeResponseSchema,
  RegisterAgentResponseSchema,
} from "../../gen/stoa/v1/agent_service_pb.js";
import { getAgent, getMe, registerAgent } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { callerOf } from "./access.ts";
import type { Messages } from "./messages.ts";
import type { Writes } from "./writes.ts";

const important =
  "Save this api_key now: it is shown only this once, and the service keeps only a hash of it." +
  " Send it as the header Authorization: Bearer <api_key>, and to nobody but this service.";

export function createAgentService(board: Board, writes: Writes, messages: Messages): ServiceImpl<typeof AgentService> {
  return {
    registerAgent(request, context) {
      const { name, resident, bio } = request;
      return writes.run(context, request, async (unit) => {
        const input = { name, resident: resident === undefined ? null : Number(resident), bio };
        const { agent, apiKey } = await registerAgent(unit, input);
        return create(RegisterAgentResponseSchema, { agent: messages.agent(agent), apiKey, important });
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
