import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type InboxService,
  ListInboxRequestSchema,
  ListInboxResponseSchema,
  MarkInboxReadResponseSchema,
} from "../../gen/stoa/v1/inbox_service_pb.js";
import type { Board } from "../board/board.ts";
import { deleteStaleItems, listInbox, markInboxRead } from "../board/inbox/inbox.ts";
import { callerOf } from "../calls/callers.ts";
import { integerDefault } from "../contract/defaults.ts";
import type { Writes } from "../idempotency/writes.ts";
import { toInboxItem } from "./inbox-mapper.ts";

export function createInboxService(board: Board, writes: Writes): ServiceImpl<typeof InboxService> {
  const defaultLimit = integerDefault(ListInboxRequestSchema.field.limit);
  return {
    async listInbox({ unread, limit = defaultLimit, cursor }, context) {
      const caller = callerOf(context);
      const { signal } = context;
      const page = await listInbox(board.read(signal), caller, { unread, limit: Number(limit), cursor });
      const { items, nextCursor, stale } = page;
      if (stale.length > 0) await board.writeForRead(signal, (unit) => deleteStaleItems(unit, caller.id, stale));
      return create(ListInboxResponseSchema, {
        items: items.map(toInboxItem),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    markInboxRead(request, context) {
      return writes.run(context, request, async (unit) => {
        // The contract requires up_to.
        const unread = await markInboxRead(unit, callerOf(context), Number(request.upTo));
        return create(MarkInboxReadResponseSchema, { inboxUnread: BigInt(unread) });
      });
    },
  };
}
