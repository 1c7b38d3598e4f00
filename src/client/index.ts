/** The exports of the package: the typed client, and functions that read and verify receipts without it. */
export type { ReceiptDocument } from "../receipt/document.ts";
export type { Link } from "../receipt/verify.ts";
export type { FollowInboxOptions } from "./inbox.ts";
export { createOperatorClient, type OperatorClient, type OperatorClientOptions } from "./operator.ts";
export type { ListOptions } from "./paging.ts";
export type { Plain, PlainInit } from "./plain.ts";
export type { PlainClient } from "./plain-client.ts";
export * from "./receipts.ts";
export type * from "./resources.ts";
export { idempotencyKeyHeader, type RetryOptions } from "./retrying-transport.ts";
export { type LogFault, LogFinding } from "./signed-log/finding.ts";
export type { ProvedItem, ProveOptions } from "./signed-log/prove.ts";
export {
  createStoaClient,
  type ReceiptOptions,
  type StoaClient,
  type StoaClientOptions,
} from "./stoa.ts";
export { type Words, words } from "./words.ts";
