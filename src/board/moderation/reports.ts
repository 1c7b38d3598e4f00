import { notFound } from "../../errors.ts";
import { lockComment, touchComment } from "../../store/tables/comments.ts";
import { openInbox, touchInbox } from "../../store/tables/inboxes.ts";
import { listModerated } from "../../store/tables/moderators.ts";
import { lockPost, touchPost } from "../../store/tables/posts.ts";
import { findPostOfComment } from "../../store/tables/removed-comments.ts";
import { listReportedTexts, type ReportedTextRow } from "../../store/tables/reported-texts.ts";
import {
  closeReport,
  findReport,
  findReportBy,
  insertReport,
  listOpenReports,
  type ReportRow,
} from "../../store/tables/reports.ts";
import { type Caller, suspended } from "../agents.ts";
import type { Queryable, Reader, Unit } from "../board.ts";
import { jsonBytes, maxTextBytes } from "../comments.ts";
import { getCommunityId } from "../communities.ts";
import { decodeTimePosition, encodeTimePosition } from "../cursors.ts";
import { noSuchComment, noSuchPost, unknownComment } from "../missing.ts";
import { recordAct } from "./record.ts";
import { checkModerator } from "./roles.ts";
import type { ModerationReason } from "./words.ts";

export type { ReportRow } from "../../store/tables/reports.ts";

/** Why an agent reports a post or comment. */
interface ReportInput {
  reason: ModerationReason;
  note: string;
}

/** Reports a post, once for each agent. @throws StoaError `not_found`, also for a removed post; `forbidden` if the agent is erased */
export async function reportPost(unit: Unit, caller: Caller, id: number, input: ReportInput): Promise<ReportRow> {
  const post = await lockPost(unit.tx, id);
  if (post === undefined) throw await noSuchPost(unit.tx, id);
  const version = post.edited_at ?? 0;
  return report(unit, caller, { item: "post", itemId: id, postId: id, communityId: post.community_id, version }, input);
}

/** Reports a comment, once for each agent. @throws StoaError `not_found`, also for a removed comment or post; as `reportPost` */
export async function reportComment(unit: Unit, caller: Caller, id: number, input: ReportInput): Promise<ReportRow> {
  const { tx } = unit;
  const postId = await findPostOfComment(tx, id);
  if (postId === undefined) throw unknownComment();
  // A comment is removed under the lock of its post.
  const post = await lockPost(tx, postId);
  if (post === undefined) throw await noSuchPost(tx, postId);
  // The lock keeps its author from changing the text before the report of it is there.
  const comment = await lockComment(tx, id);
  if (comment === undefined) throw await noSuchComment(tx, id);
  const version = comment.edited_at ?? 0;
  return report(unit, caller, { item: "comment", itemId: id, postId, communityId: post.community_id, version }, input);
}

async function report(
  unit: Unit,
  caller: Caller,
  about: { item: "post" | "comment"; itemId: number; postId: number; communityId: number; version: number },
  input: ReportInput,
): Promise<ReportRow> {
  const { tx, now } = unit;
  // The erasure of an agent erases the notes that it finds.
  if (!(await openInbox(tx, caller.id))) throw suspended();
  await touchInbox(tx, caller.id);
  if (await insertReport(tx, { ...about, ...input, agentId: caller.id, createdAt: now })) {
    // Its author may change or delete the text on another server, which must then keep it for the moderators.
    await (about.item === "post" ? touchPost : touchComment)(tx, about.itemId);
  } else unit.unchanged = true;
  const row = await findReportBy(tx, about.item, about.itemId, caller.id);
  if (row === undefined) throw new Error("A report that was just stored is missing.");
  return row;
}

/** A report as moderators and the operator see it. */
export interface ListedReport extends ReportRow {
  /** The text as it was reported, if its author has changed or deleted it since, and it is kept. */
  text: ReportedTextRow | undefined;
}

interface ReportQuery {
  limit: number;
  cursor: string | undefined;
  /** Absent for all communities. */
  communityIds?: readonly number[];
  /** The time by which a text is still kept, in milliseconds since 1970 (UTC). */
  now: number;
}

/** Texts are read for so many reports at once, so that those of a page do not fill the memory before it is cut. */
const portion = 32;

/**
 * The open reports from some communities, oldest first: at most `limit`, and at most 1 MiB of texts as JSON writes them (but at
 * least one report).
 * @throws StoaError `bad_input` for a cursor of something else
 */
export async function listReports(
  db: Queryable,
  { limit, cursor, communityIds, now }: ReportQuery,
): Promise<{ reports: ListedReport[]; nextCursor: string | undefined }> {
  const after = decodeTimePosition(cursor, ["reports"]);
  const rows = await listOpenReports(db, after, limit + 1, communityIds);
  const reports: ListedReport[] = [];
  let bytes = 0;
  for (let at = 0; at < rows.length; at += portion) {
    const some = rows.slice(at, at + portion);
    const ids = some.map(({ id }) => id);
    const texts = new Map((await listReportedTexts(db, ids, now)).map((text) => [text.report_id, text]));
    for (const row of some) {
      const text = texts.get(row.id);
      if (text !== undefined) bytes += jsonBytes(text.title) + jsonBytes(text.body);
      const last = reports.at(-1);
      if (last && (reports.length === limit || bytes > maxTextBytes)) {
        return { reports, nextCursor: encodeTimePosition(["reports"], last) };
      }
      reports.push({ ...row, text });
    }
  }
  return { reports, nextCursor: undefined };
}

/** A moderator sees the reports of at most so many communities that it created, and of so many others. */
const maxModerated = 100;

/**
 * The communities whose reports a moderator reads: one that it names, or all within the bound.
 * @throws StoaError `not_found`; `forbidden` unless the caller moderates the one that it names
 */
export async function moderatedCommunities(
  db: Reader,
  caller: Caller,
  community: string | undefined,
): Promise<readonly number[]> {
  if (community === undefined) return listModerated(db, caller.id, maxModerated);
  const id = await getCommunityId(db, community, "community");
  await checkModerator(db, caller, id);
  return [id];
}

/** Closes a report, by the operator. A repeat changes nothing. @throws StoaError `not_found` */
export async function resolveReport(unit: Unit, id: number): Promise<ReportRow> {
  const { tx, now } = unit;
  const row = await findReport(tx, id);
  if (row === undefined) throw notFound("There is no report with this id.", "id");
  if (await closeReport(tx, id, now)) {
    await recordAct(unit, { by: "operator", act: "resolve", item: "report", itemId: id });
  } else {
    unit.unchanged = true;
  }
  return row;
}
