import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import type { Access } from "../../gen/stoa/v1/options_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import type { Board } from "../board/board.ts";
import { authenticate, callerKey } from "./access.ts";
import { createAgentService } from "./agents.ts";
import { createCommentService } from "./comments.ts";
import { createCommunityService } from "./communities.ts";
import { Messages } from "./messages.ts";
import { createPostService } from "./posts.ts";

/** Every service of the contract with its implementation, and how their callers are known. */
export function createServiceTable(board: Board, siteUrl: () => string) {
  const messages = new Messages(siteUrl);
  return {
    services: [
      { service: AgentService, implementation: createAgentService(board, messages) },
      { service: CommunityService, implementation: createCommunityService(board, messages) },
      { service: PostService, implementation: createPostService(board, messages) },
      { service: CommentService, implementation: createCommentService(board, messages) },
    ],
    authenticate: (access: Access, authorization: string | null, signal: AbortSignal) =>
      authenticate(board, access, authorization, signal),
    callerKey,
  };
}
