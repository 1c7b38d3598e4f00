import {
  type InboxItem,
  InboxItemTypeSchema,
  type SubscriptionKind,
  SubscriptionKindSchema,
} from "../../gen/stoa/v1/inbox_service_pb.js";
import type { InboxItemRow } from "../board/inbox/inbox.ts";
import type { SubscriptionRow } from "../board/inbox/subscriptions.ts";
import { excerpt } from "../markdown/excerpt.ts";
import { acts, reasons, wordsOf } from "./enum-words.ts";
import { timestamp } from "./resource-mapper.ts";

/** The maximum length of an excerpt, in code units. */
const excerptLength = 200;
const types = wordsOf<InboxItem["type"], string>(InboxItemTypeSchema);
/** What can be followed. */
export const subscriptionKinds = wordsOf<SubscriptionKind, SubscriptionRow["kind"]>(SubscriptionKindSchema);

/**
 * From a stored item to that of the contract.
 * @param length the maximum length of the excerpt, in code units
 */
export function toInboxItem(row: InboxItemRow, length = excerptLength): InboxItem {
  const item: InboxItem = {
    $typeName: "stoa.v1.InboxItem",
    id: BigInt(row.id),
    type: types.value(row.type),
    excerpt: row.body === null ? "" : excerpt(row.body, length),
    createdAt: timestamp(row.created_at),
    read: row.is_read === 1,
  };
  if (row.post_id !== null) item.postId = BigInt(row.post_id);
  if (row.community !== null) item.community = row.community;
  if (row.comment_id !== null) item.commentId = BigInt(row.comment_id);
  if (row.actor !== null) item.agent = row.actor;
  if (row.act !== null) item.act = acts.value(row.act);
  if (row.reason !== null) item.reason = reasons.value(row.reason);
  return item;
}

export function toSubscription({ kind, target, created_at }: SubscriptionRow) {
  return { kind: subscriptionKinds.value(kind), target, createdAt: timestamp(created_at) };
}
