// Removing and restoring, which is the same for posts and for comments. What differs is in posts.ts and comments.ts.
import { notFound } from "../../errors.ts";
import { type NewRemoval, putRemoval, type RemovalChange } from "../../store/tables/removed-posts.ts";
import type { ReportedItem, ReportedVersion } from "../../store/tables/reported-texts.ts";
import type { Salt } from "../../store/tables/salts.ts";
import type { Unit } from "../board.ts";
import { type NotedAct, noteAct, noteRemoval, noteRestore, type Words } from "../inbox/changes.ts";
import { logDeletion, logRestore } from "../logged/entries.ts";
import { removeFromSearch, restoreInSearch } from "../search/index-items.ts";
import { beginCleanUp, endCleanUp } from "./clean-up.ts";
import { recordAct } from "./record.ts";
import { endReported, keepDeleted } from "./reported.ts";
import { checkRestorer, decideRemoval, type Moderator, type RemovalRequest } from "./roles.ts";

/** How something was removed. */
interface RemovalState {
  removed_by: string;
  reason: string | null;
  erase_at: number | null;
}

/** A post or comment whose row is locked, among those that stand or among the removed ones. */
export interface Locked<Removed extends RemovalState> extends ReportedItem {
  communityId: number;
  words: Words;
  /** Undefined if it is removed. */
  standing: { version: ReportedVersion; salt: Salt } | undefined;
  /** Undefined if it stands. */
  removed: Removed | undefined;
  /** Moves it to the removed ones. It does not count any more. */
  takeAway(removal: NewRemoval): Promise<void>;
  /** Moves it back. It counts again. */
  putBack(removed: Removed): Promise<void>;
}

/**
 * Removes a post or comment, and closes the reports about it; those about what its author deletes stay open for moderators. A
 * repeat changes nothing, unless the author was quicker than a moderator or the operator, the operator takes the removal over, or
 * the time for which the text is kept becomes shorter.
 * @throws StoaError `forbidden`; `bad_input`, field `reason`
 */
export async function remove<Removed extends RemovalState>(
  unit: Unit,
  moderator: Moderator,
  { item, item_id, communityId, words, standing, removed, takeAway }: Locked<Removed>,
  request: RemovalRequest,
): Promise<void> {
  const { tx } = unit;
  const about = { item, item_id };
  const removal = await decideRemoval(unit, moderator, { authorId: words.authorId, communityId }, request);
  const { by, reason } = removal;
  const change = removed && changeOfRemoval(removal, removed);
  const noted: NotedAct = { moderator, act: "remove", reason };
  let isNoted = false;
  if (standing !== undefined) {
    if (by === "author") await keepDeleted(unit, standing.version);
    await takeAway(removal);
    await removeFromSearch(tx, `${item}s`, item_id);
    isNoted = await noteRemoval(unit, words, noted);
    if (by === "author") {
      await beginCleanUp(unit, about);
      logDeletion(unit, item, { id: item_id, at: removal.at }, standing.salt);
    } else {
      await endReported(unit, about);
    }
  } else if (change !== undefined) {
    await putRemoval(tx, `removed_${item}s`, item_id, change);
    isNoted = await noteAct(unit, words, noted);
    if (removed?.removed_by === "author") await endReported(unit, about);
  } else {
    unit.unchanged = true;
    return;
  }
  if (by === "author") return;
  await recordAct(unit, { by: moderator, act: "remove", item, itemId: item_id, reason, note: request.note, isNoted });
}

/**
 * Restores a removed post or comment while its text is kept. What stands stays as it is.
 * @throws StoaError `not_found` for an erased text; `forbidden`
 */
export async function restore<Removed extends RemovalState>(
  unit: Unit,
  moderator: Moderator,
  { item, item_id, communityId, words, removed, putBack }: Locked<Removed>,
): Promise<void> {
  const { tx, now } = unit;
  await checkRestorer(tx, moderator, { authorId: words.authorId, communityId }, removed?.removed_by);
  if (removed === undefined) {
    unit.unchanged = true;
    return;
  }
  const { erase_at } = removed;
  if (erase_at === null || erase_at <= now) throw notFound(`The text of this ${item} has been erased.`);
  await putBack(removed);
  await restoreInSearch(tx, `${item}s`, item_id);
  const isNoted = await noteRestore(unit, words, { moderator, act: "restore" });
  await endCleanUp(unit, { item, item_id });
  await logRestore(unit, item, item_id);
  await recordAct(unit, { by: moderator, act: "restore", item, itemId: item_id, isNoted });
}

/**
 * What a second removal changes. If the author was quicker, a moderator or the operator adds the reason; the text is gone. If
 * the operator removes what a moderator has removed, moderators can no longer restore it. Otherwise a second removal only
 * shortens the time for which the text is kept. A moderator cannot shorten the operator's.
 * @returns undefined if it changes nothing
 */
function changeOfRemoval(
  { by, reason, eraseAt, at }: NewRemoval,
  { removed_by, reason: before, erase_at: planned }: RemovalState,
): RemovalChange | undefined {
  if (removed_by === "author") return by === "author" ? undefined : { by, reason, eraseAt: null, at };
  // A text that is erased stays erased.
  if (by === "operator" && removed_by === "moderator")
    return { by, reason, eraseAt: planned === null ? null : eraseAt };
  if (by === "moderator" && removed_by === "operator") return undefined;
  const isSooner = planned !== null && (eraseAt === null || eraseAt < planned);
  return isSooner ? { by: removed_by, reason: before, eraseAt } : undefined;
}
