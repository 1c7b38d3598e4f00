import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ExportMeRequest,
  type ExportMeResponse,
  ExportMeResponseSchema,
} from "../../gen/stoa/v1/agent_service_pb.js";
import { ExportCountsSchema, type ExportRecordSchema, ExportType } from "../../gen/stoa/v1/export_pb.js";
import { getMe } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { type Exported, exportAgent } from "../board/export.ts";
import { callerOf } from "../calls/call.ts";
import { StoaError } from "../errors.ts";
import { Slots } from "../rate-limits/slots.ts";
import { toInboxItem, toSubscription } from "./inbox-mapper.ts";
import { toReport } from "./moderation-mapper.ts";
import { type ResourceMapper, timestamp } from "./resource-mapper.ts";
import type { StreamPace } from "./stream-pace.ts";

const version = 1n;
/** How many exports may run in this process: each holds up to 400 KB while its client does not read. */
const limits = { total: 32, perAddress: 1, perAgent: 1 };
/** When a refused caller may try again, in seconds. It is a guess: nobody knows how long an export takes. */
const again = { retryAfterSeconds: 10 };

type NewRecord = MessageInitShape<typeof ExportRecordSchema>;

/** Makes the call that exports what the board has of its caller. */
export function createExport(board: Board, mapper: ResourceMapper, paces: StreamPace) {
  const slots = new Slots(limits);
  const toRecord = (exported: Exported): NewRecord => {
    switch (exported.type) {
      case "community":
        return { type: ExportType.COMMUNITY, community: mapper.community(exported.row) };
      case "post":
        return { type: ExportType.POST, post: mapper.post(exported.row) };
      case "comment":
        return { type: ExportType.COMMENT, comment: mapper.comment(exported.row) };
      case "report":
        return { type: ExportType.REPORT, report: toReport(exported.row, true) };
      case "vote": {
        const { kind, id, vote } = exported.row;
        const voted = kind === "post" ? { postId: BigInt(id) } : { commentId: BigInt(id) };
        return { type: ExportType.VOTE, vote: { ...voted, vote } };
      }
      case "subscription":
        return { type: ExportType.SUBSCRIPTION, subscription: toSubscription(exported.row) };
      case "inbox_item":
        return { type: ExportType.INBOX_ITEM, inboxItem: toInboxItem(exported.row) };
    }
  };

  async function* recordsOf(context: HandlerContext): AsyncGenerator<NewRecord, void> {
    const caller = callerOf(context);
    const db = board.readLong(context.signal);
    const exportedAt = timestamp(board.now());
    yield { type: ExportType.EXPORT, format: "stoa-export", version, exportedAt };
    yield { type: ExportType.AGENT, agent: mapper.agent(await getMe(db, caller)) };
    const counts = { community: 0n, post: 0n, comment: 0n, vote: 0n, report: 0n, subscription: 0n, inbox_item: 0n };
    for await (const exported of exportAgent(db, caller.id)) {
      counts[exported.type]++;
      yield toRecord(exported);
    }
    yield {
      type: ExportType.END,
      counts: create(ExportCountsSchema, {
        communities: counts.community,
        posts: counts.post,
        comments: counts.comment,
        votes: counts.vote,
        reports: counts.report,
        subscriptions: counts.subscription,
        inboxItems: counts.inbox_item,
      }),
    };
  }

  /** @throws StoaError `rate_limited` while an export of the caller runs, `unavailable` while too many run */
  return async function* exportMe(_: ExportMeRequest, context: HandlerContext): AsyncGenerator<ExportMeResponse, void> {
    const { id } = callerOf(context);
    const full = slots.take(id, undefined);
    if (full === "perAgent") throw new StoaError("rate_limited", "An export of this agent is running.", again);
    if (full !== undefined) throw new StoaError("unavailable", "Too many exports are running.", again);
    let isHeld = true;
    const release = () => {
      if (isHeld) slots.release(id, undefined);
      isHeld = false;
    };
    // Whoever reads the records may leave without saying so to this generator.
    context.signal.addEventListener("abort", release, { once: true });
    try {
      const pace = paces.of(context);
      for await (const record of recordsOf(context)) {
        await pace();
        yield create(ExportMeResponseSchema, { record });
      }
    } finally {
      release();
    }
  };
}
