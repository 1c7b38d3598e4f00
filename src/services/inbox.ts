import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type InboxService,
  ListInboxRequestSchema,
  ListInboxResponseSchema,
  ListSubscriptionsResponseSchema,
  MarkInboxReadResponseSchema,
  SubscribeResponseSchema,
  UnsubscribeResponseSchema,
  WatchInboxResponseSchema,
} from "../../gen/stoa/v1/inbox_service_pb.js";
import type { Board } from "../board/board.ts";
import { listInbox, markInboxRead } from "../board/inbox/inbox.ts";
import { bringNews, readWithNews } from "../board/inbox/news.ts";
import type { InboxStreams } from "../board/inbox/streams.ts";
import { listSubscriptions, subscribe, unsubscribe } from "../board/inbox/subscriptions.ts";
import { callerOf } from "../calls/call.ts";
import { integerDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import { type ApiKeys, shownKey } from "./api-keys.ts";
import { subscriptionKinds as kinds, toInboxItem, toSubscription } from "./inbox-mapper.ts";
import type { StreamPace } from "./stream-pace.ts";

/**
 * How long the check of a key holds within one portion of items, in milliseconds. Each new item is a portion of its own. A
 * portion takes longer if the client reads slowly.
 */
const checkHoldsMs = 50;

/** @param keys says whether the API key of a stream still works */
export function createInboxService(
  board: Board,
  writes: Writes,
  inboxes: InboxStreams,
  keys: ApiKeys,
  paces: StreamPace,
): ServiceImpl<typeof InboxService> {
  const defaultLimit = integerDefault(ListInboxRequestSchema.field.limit);
  return {
    async listInbox({ unread, limit = defaultLimit, cursor }, context) {
      const query = { unread, limit: Number(limit), cursor };
      const caller = callerOf(context);
      const db = board.read(context.signal);
      const { items, nextCursor } = await readWithNews(
        { board, signal: context.signal, agentId: caller.id },
        () => listInbox(db, caller, query),
        // News are newer than all later pages. An empty page does not say whether the agent follows anything.
        (page) => cursor === undefined && page.items[0]?.follows !== 0,
      );
      return create(ListInboxResponseSchema, {
        items: items.map((item) => toInboxItem(item)),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    async markInboxRead(request, context) {
      await bringNews(board, context.signal, callerOf(context).id);
      return writes.run(context, request, async (unit) => {
        // The contract requires up_to.
        const unread = await markInboxRead(unit, callerOf(context), Number(request.upTo));
        return create(MarkInboxReadResponseSchema, { inboxUnread: BigInt(unread) });
      });
    },

    async *watchInbox({ from, follow }, context) {
      const { id, apiKey } = callerOf(context);
      const key = shownKey(apiKey);
      const pace = paces.of(context);
      const query = { from: from === undefined ? undefined : Number(from), follow };
      for await (const rows of inboxes.stream(context.signal, id, query)) {
        let checkedAt = Number.NEGATIVE_INFINITY;
        for (const row of rows) {
          await pace();
          if (performance.now() - checkedAt > checkHoldsMs) {
            const refusal = await keys.refusalOfStreams(key, id);
            if (refusal !== undefined) throw refusal;
            checkedAt = performance.now();
          }
          yield { $typeName: WatchInboxResponseSchema.typeName, item: toInboxItem(row) };
        }
      }
    },

    subscribe(request, context) {
      const { target } = request;
      const kind = kinds.word(request.kind);
      return writes.run(context, request, async (unit) => {
        const { since, count, ...found } = await subscribe(unit, callerOf(context), { kind, target });
        const subscription = toSubscription({ ...found, kind, created_at: since });
        return create(SubscribeResponseSchema, { subscription, subscriptions: BigInt(count) });
      });
    },

    unsubscribe(request, context) {
      const { target } = request;
      const kind = kinds.word(request.kind);
      return writes.run(context, request, async (unit) => {
        const count = await unsubscribe(unit, callerOf(context), { kind, target });
        return create(UnsubscribeResponseSchema, { subscriptions: BigInt(count) });
      });
    },

    async listSubscriptions(_request, context) {
      const rows = await listSubscriptions(board.read(context.signal), callerOf(context).id);
      return create(ListSubscriptionsResponseSchema, { subscriptions: rows.map(toSubscription) });
    },
  };
}
