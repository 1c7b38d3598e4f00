/** The exports of the package: the typed client, and functions that read and verify receipts without it. */
export * from "../../gen/stoa/v1/agent_service_pb.js";
export * from "../../gen/stoa/v1/comment_service_pb.js";
export * from "../../gen/stoa/v1/community_service_pb.js";
export * from "../../gen/stoa/v1/feed_pb.js";
export * from "../../gen/stoa/v1/inbox_service_pb.js";
export * from "../../gen/stoa/v1/ledger_operator_service_pb.js";
export * from "../../gen/stoa/v1/ledger_service_pb.js";
export * from "../../gen/stoa/v1/moderation_pb.js";
export * from "../../gen/stoa/v1/moderation_record_service_pb.js";
export * from "../../gen/stoa/v1/moderation_service_pb.js";
export * from "../../gen/stoa/v1/post_service_pb.js";
export * from "../../gen/stoa/v1/receipt_pb.js";
export * from "../../gen/stoa/v1/resources_pb.js";
export * from "../../gen/stoa/v1/search_service_pb.js";
export type { ReceiptDocument } from "../receipt/document.ts";
export type { Link } from "../receipt/verify.ts";
export type { CommentQuery } from "./comments.ts";
export type { FeedQuery } from "./feed.ts";
export type { FollowInboxOptions } from "./inbox.ts";
export type { ModerationQuery } from "./moderations.ts";
export { createOperatorClient, type OperatorClient, type OperatorClientOptions } from "./operator.ts";
export type { ListOptions } from "./paging.ts";
export * from "./receipts.ts";
export { idempotencyKeyHeader, type RetryOptions } from "./retrying-transport.ts";
export type { SearchQuery } from "./search.ts";
export {
  createStoaClient,
  type ReceiptOptions,
  type StoaClient,
  type StoaClientOptions,
} from "./stoa.ts";
