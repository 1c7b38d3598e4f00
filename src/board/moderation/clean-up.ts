import { eraseRepliesAbout } from "../../store/tables/idempotency-replies.ts";
import { countReportedTexts } from "../../store/tables/reported-texts.ts";
import { closeReportsAbout } from "../../store/tables/reports.ts";
import { deleteUnfinished, lockUnfinished, putUnfinished } from "../../store/tables/unfinished-removals.ts";
import type { Unit } from "../board.ts";

/** How many rows about what is removed one transaction changes. The rest is left to the sweep. */
const batch = 100;

/** A post or comment that is removed. */
interface Removed {
  item: "post" | "comment";
  item_id: number;
}

/**
 * Closes the reports about a post or comment that has been removed in this unit of work, unless its author removed it and
 * moderators still have to judge it, and erases the replies that are stored with its text. If there are too many rows for one
 * transaction, the sweep continues.
 */
export async function beginCleanUp(unit: Unit, removed: Removed): Promise<void> {
  if (await changeRows(unit, removed)) return;
  await putUnfinished(unit.tx, { ...removed, began_at: unit.now, reason: null, note: "" });
}

/** The next step of it. @returns whether it was the last, or what was removed is restored */
export async function continueCleanUp(unit: Unit, removed: Removed): Promise<boolean> {
  if (!(await lockUnfinished(unit.tx, removed))) return true;
  if (!(await changeRows(unit, removed))) return false;
  await endCleanUp(unit, removed);
  return true;
}

/** Ends it early, because what was removed is restored in this unit of work. */
export async function endCleanUp({ tx }: Unit, removed: Removed): Promise<void> {
  await deleteUnfinished(tx, { ...removed, reason: null });
}

/** @returns whether no more rows are left */
async function changeRows({ tx, now }: Unit, removed: Removed): Promise<boolean> {
  const { item, item_id } = removed;
  const isToBeJudged = (await countReportedTexts(tx, removed)) > 0;
  const closed = isToBeJudged ? 0 : await closeReportsAbout(tx, item, item_id, now, batch);
  const erased = await eraseRepliesAbout(tx, { item, itemId: item_id }, batch);
  return closed < batch && erased < batch;
}
