import { create } from "@bufbuild/protobuf";
import { type Moderation, ModerationSchema, type Report, ReportSchema } from "../../gen/stoa/v1/moderation_pb.js";
import type { ModerationRow } from "../board/moderation/record.ts";
import type { ListedReport, ReportRow } from "../board/moderation/reports.ts";
import { acts, items, reasons, roles } from "./enum-words.ts";
import { timestamp } from "./resource-mapper.ts";

/** An act of the public record. */
export function toModeration(row: ModerationRow): Moderation {
  return create(ModerationSchema, {
    id: BigInt(row.id),
    role: roles.value(row.role),
    act: acts.value(row.act),
    item: items.value(row.item),
    itemId: BigInt(row.item_id),
    ...(row.reason === null ? {} : { reason: reasons.value(row.reason) }),
    createdAt: timestamp(row.created_at),
  });
}

/** A report, with the reported text where it is listed. @param showsAgent whether the reader may know who reported */
export function toReport(row: ReportRow & Partial<ListedReport>, showsAgent: boolean): Report {
  const { text } = row;
  return create(ReportSchema, {
    id: BigInt(row.id),
    postId: BigInt(row.post_id),
    ...(row.item === "comment" ? { commentId: BigInt(row.item_id) } : {}),
    community: row.community,
    reason: reasons.value(row.reason),
    note: row.note,
    createdAt: timestamp(row.created_at),
    ...(showsAgent ? { agent: row.agent } : {}),
    ...(text && {
      reportedText: { author: text.author, title: text.title, body: text.body, until: timestamp(text.erase_at) },
    }),
  });
}
