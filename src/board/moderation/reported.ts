// What moderators still see of a reported text after its author has changed or deleted it.
import { forbidden } from "../../errors.ts";
import { lockComment } from "../../store/tables/comments.ts";
import { lockPost } from "../../store/tables/posts.ts";
import { lockRemovedComment } from "../../store/tables/removed-comments.ts";
import { lockRemovedPost } from "../../store/tables/removed-posts.ts";
import {
  countReportedTexts,
  deleteReportedTexts,
  findReportedItemOf,
  putReportedText,
  type ReportedItem,
  type ReportedVersion,
} from "../../store/tables/reported-texts.ts";
import { isReported, isVersionReported } from "../../store/tables/reports.ts";
import type { Unit } from "../board.ts";
import { beginCleanUp } from "./clean-up.ts";
import { erasedAtOnce } from "./words.ts";

/** For how long moderators see a reported text after its author's edit or deletion, in milliseconds. */
const keptMs = 7 * 86_400_000;
/**
 * How many versions of a post or comment are kept at most, besides the one that is deleted. With more, an author and those who
 * report it could fill the disk together, or push out what others have reported.
 */
const maxKept = 20;

/**
 * Keeps a text that its author changes, if it is reported. The text is locked.
 * @throws StoaError `forbidden` if too many versions are kept
 */
export async function keepEdited(unit: Unit, text: ReportedVersion): Promise<void> {
  if (!(await isVersionReported(unit.tx, text, text.version))) return;
  if ((await countReportedTexts(unit.tx, text)) >= maxKept) {
    const message =
      `${maxKept} earlier texts of this are kept for moderators, because they were reported before they were changed.` +
      " It can be deleted. It can be changed again when one of them has been erased, 7 days after its change.";
    throw forbidden(message);
  }
  await keep(unit, text);
}

/** Keeps a text that its author deletes, if it was reported in any version. Its reports stay open meanwhile. */
export async function keepDeleted(unit: Unit, text: ReportedVersion): Promise<void> {
  if (await isReported(unit.tx, text)) await keep(unit, text);
}

async function keep({ tx, now }: Unit, text: ReportedVersion): Promise<void> {
  // If all its reports give reasons for which texts are erased at once, an empty text is kept: by it the reports stay open.
  const isKept = await isVersionReported(tx, text, text.version, [...erasedAtOnce]);
  await putReportedText(tx, isKept ? text : { ...text, title: "", body: "" }, now + keptMs);
}

/** Ends what moderators see of a post or comment that they or the operator remove: its reports are closed. */
export async function endReported(unit: Unit, item: ReportedItem): Promise<void> {
  await deleteReportedTexts(unit.tx, item);
  await beginCleanUp(unit, item);
}

/** Erases what is kept of a post or comment longer than it should be. The reports about what was deleted end with it. */
export async function eraseExpired(unit: Unit, item: ReportedItem): Promise<void> {
  const isRemoved = await lock(unit, item);
  await deleteReportedTexts(unit.tx, item, unit.expiryNow?.() ?? unit.now);
  if (isRemoved && (await countReportedTexts(unit.tx, item)) === 0) await beginCleanUp(unit, item);
}

/** Erases all that is kept of one post or comment of an agent. @returns undefined if nothing is kept of the agent's */
export async function eraseReportedOf(unit: Unit, authorId: number): Promise<0 | undefined> {
  const item = await findReportedItemOf(unit.tx, authorId);
  if (item === undefined) return undefined;
  if (await lock(unit, item)) await endReported(unit, item);
  else await deleteReportedTexts(unit.tx, item);
  return 0;
}

/** Locks a post or comment. What its author has deleted is never restored. @returns whether it is removed */
async function lock({ tx }: Unit, { item, item_id }: ReportedItem): Promise<boolean> {
  if (item === "post") {
    return (await lockPost(tx, item_id)) === undefined && (await lockRemovedPost(tx, item_id)) !== undefined;
  }
  return (await lockComment(tx, item_id)) === undefined && (await lockRemovedComment(tx, item_id)) !== undefined;
}
