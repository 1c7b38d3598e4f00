import type { MessageInitShape } from "@bufbuild/protobuf";
import { ModerationAct, ModerationItem, ModerationReason, ModerationRole } from "../../gen/stoa/v1/moderation_pb.js";
import type { ListModerationsRequestSchema } from "../../gen/stoa/v1/moderation_record_service_pb.js";
import { type NameOf, valueNamed } from "./enum-names.ts";

/** Selects acts of the public record of moderation. */
export interface ModerationQuery {
  act?: NameOf<typeof ModerationAct> | undefined;
  role?: NameOf<typeof ModerationRole> | undefined;
  reason?: NameOf<typeof ModerationReason> | undefined;
  item?: NameOf<typeof ModerationItem> | undefined;
  /** Only acts that concern the thing with this id. */
  itemId?: bigint | undefined;
}

/**
 * The first request of the public record, with the largest pages that the service allows.
 * @throws TypeError for an unknown name
 */
export function moderationsRequest(query: ModerationQuery): MessageInitShape<typeof ListModerationsRequestSchema> {
  const { act, role, reason, item, itemId } = query;
  const of = "the record of moderation";
  return {
    limit: 1000n,
    ...(act === undefined ? {} : { act: valueNamed<ModerationAct>(ModerationAct, act, of) }),
    ...(role === undefined ? {} : { role: valueNamed<ModerationRole>(ModerationRole, role, of) }),
    ...(reason === undefined ? {} : { reason: valueNamed<ModerationReason>(ModerationReason, reason, of) }),
    ...(item === undefined ? {} : { item: valueNamed<ModerationItem>(ModerationItem, item, of) }),
    ...(itemId === undefined ? {} : { itemId }),
  };
}
