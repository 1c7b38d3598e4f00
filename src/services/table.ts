import type { DescMethod, Message } from "@bufbuild/protobuf";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { LogService } from "../../gen/stoa/v1/log_service_pb.js";
import { ModerationRecordService } from "../../gen/stoa/v1/moderation_record_service_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { SearchService } from "../../gen/stoa/v1/search_service_pb.js";
import type { Board } from "../board/board.ts";
import type { InboxStreams } from "../board/inbox/streams.ts";
import { showComment } from "../board/moderation/comments.ts";
import { showPost } from "../board/moderation/posts.ts";
import type { WriteLimits } from "../board/write-limits.ts";
import type { RegistrationMode } from "../contract/registration.ts";
import { Writes } from "../idempotency/writes.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createAgentService } from "./agents.ts";
import { ApiKeys } from "./api-keys.ts";
import { Authenticator } from "./authenticator.ts";
import { createCommentService } from "./comments.ts";
import { createCommunityService } from "./communities.ts";
import { isCostlyFeed } from "./feeds.ts";
import { createInboxService } from "./inbox.ts";
import { createLedgerService } from "./ledger.ts";
import { createLedgerOperatorService } from "./ledger-operator.ts";
import { createLogService, type LogAccess } from "./log.ts";
import { createModerationService } from "./moderation.ts";
import { createModerationRecordService } from "./moderation-record.ts";
import { OperatorTokens } from "./operator-tokens.ts";
import { createPostService } from "./posts.ts";
import { ReceiptMapper } from "./receipt-mapper.ts";
import { createRegistrationCheck } from "./registration.ts";
import { ResourceMapper } from "./resource-mapper.ts";
import { createSearchService } from "./search.ts";
import { createKeyRefusal } from "./shown-keys.ts";
import { StreamPace } from "./stream-pace.ts";

export interface ServiceOptions {
  board: Board;
  ledger: Ledger;
  boardLog: LogAccess;
  inboxes: InboxStreams;
  /** The public root address, without a slash at its end. */
  siteUrl: string;
  /** Without them there are no operator services. */
  operators: OperatorTokens | undefined;
  /** Who may register agents. The mode `token` requires a token. */
  registration: { mode: RegistrationMode; token: string | undefined };
  /** What writes spend; without it they are not limited. */
  writeLimits: WriteLimits | undefined;
}

/** Every service of the contract with its implementation, and how their callers are known. */
export function createServiceTable({
  board,
  ledger,
  boardLog,
  inboxes,
  siteUrl,
  operators,
  registration,
  writeLimits,
}: ServiceOptions) {
  const mapper = new ResourceMapper(siteUrl, () => board.expiryNow());
  const receipts = new ReceiptMapper(siteUrl);
  const writes = new Writes(board, ledger, writeLimits, {
    post: async (db, id) => mapper.post(await showPost(db, id)),
    comment: async (db, id) => mapper.comment(await showComment(db, id)),
  });
  const keys = new ApiKeys(board);
  const paces = new StreamPace();
  const authenticator = new Authenticator(board, operators ?? new OperatorTokens(undefined, []));
  const operatorServices = [
    { service: LedgerOperatorService, implementation: createLedgerOperatorService(ledger, writes, receipts) },
    { service: ModerationService, implementation: createModerationService(board, writes, mapper) },
  ];
  return {
    services: [
      { service: AgentService, implementation: createAgentService(board, writes, mapper, keys, writeLimits, paces) },
      { service: CommunityService, implementation: createCommunityService(board, writes, mapper) },
      { service: PostService, implementation: createPostService(board, writes, mapper, keys) },
      { service: CommentService, implementation: createCommentService(board, writes, mapper) },
      { service: InboxService, implementation: createInboxService(board, writes, inboxes, keys, paces) },
      { service: SearchService, implementation: createSearchService(board, mapper) },
      { service: LedgerService, implementation: createLedgerService(ledger, receipts, paces) },
      { service: LogService, implementation: createLogService(boardLog, board, siteUrl) },
      { service: ModerationRecordService, implementation: createModerationRecordService(board) },
      ...(operators === undefined ? [] : operatorServices),
    ],
    // A verification takes long, and its result says how old it is. So callers join the one that runs.
    sharing: [LedgerService.method.verifyChain],
    slow: new Map<DescMethod, (request: Message) => boolean>([
      [SearchService.method.search, () => true],
      [ModerationRecordService.method.listModerations, () => true],
      [PostService.method.listPosts, isCostlyFeed],
      [CommunityService.method.listCommunityPosts, isCostlyFeed],
    ]),
    keys,
    refuseKeys: createKeyRefusal(board),
    authenticate: authenticator.authenticate,
    checkRegistration: createRegistrationCheck(registration.mode, registration.token),
    beginCall: (signal: AbortSignal) => board.beginCall(signal),
  };
}
