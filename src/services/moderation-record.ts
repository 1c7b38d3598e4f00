import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ListModerationsRequestSchema,
  ListModerationsResponseSchema,
  type ModerationRecordService,
} from "../../gen/stoa/v1/moderation_record_service_pb.js";
import type { Board } from "../board/board.ts";
import { listModerations } from "../board/moderation/record.ts";
import { integerDefault } from "../contract/defaults.ts";
import { acts, items, reasons, roles } from "./enum-words.ts";
import { toModeration } from "./moderation-mapper.ts";

export function createModerationRecordService(board: Board): ServiceImpl<typeof ModerationRecordService> {
  const defaultLimit = integerDefault(ListModerationsRequestSchema.field.limit);
  return {
    async listModerations({ act, role, reason, item, itemId, moderator, limit = defaultLimit, cursor }, { signal }) {
      const filter = {
        act: acts.optional(act),
        role: roles.optional(role),
        reason: reasons.optional(reason),
        item: items.optional(item),
        itemId: itemId === undefined ? undefined : Number(itemId),
        moderator,
      };
      // With several filters thousands of acts may be looked through.
      const db = board.read(signal).costly();
      const { moderations, nextCursor } = await listModerations(db, filter, Number(limit), cursor);
      return create(ListModerationsResponseSchema, {
        moderations: moderations.map(toModeration),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },
  };
}
