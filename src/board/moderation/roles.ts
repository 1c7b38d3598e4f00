import { badInput, forbidden } from "../../errors.ts";
import { findModerator } from "../../store/tables/moderators.ts";
import type { NewRemoval } from "../../store/tables/removed-posts.ts";
import type { Caller } from "../agents.ts";
import type { Queryable, Unit } from "../board.ts";
import { erasedAtOnce, type ModerationReason, type ModerationRole } from "./words.ts";

/** Who moderates: an agent, which needs the right to, or the operator, who has every right. */
export type Moderator = Pick<Caller, "id"> | "operator";

const dayMs = 86_400_000;
/** For how long the text of what a moderator removed is kept, in milliseconds. */
const keptByModeratorMs = 7 * dayMs;

/** @throws StoaError `forbidden` unless the caller is the operator or a moderator of the community */
export async function checkModerator(db: Queryable, moderator: Moderator, communityId: number): Promise<void> {
  if (moderator === "operator") return;
  if ((await findModerator(db, communityId, moderator.id)).isModerator) return;
  throw forbidden("Only moderators of the community may do this.");
}

/** What a removal asks for. */
export interface RemovalRequest {
  reason: ModerationReason | undefined;
  /** A remark for moderators and the operator; empty for none. */
  note: string;
  /** For how many days the text is kept if the operator removes it; 0 by default. */
  keepForDays?: number;
}

/**
 * Decides whether somebody may remove a post or comment, in which role, and for how long its text is kept.
 * @throws StoaError `forbidden`; `bad_input`, field `reason`, for a moderator without a reason
 */
export async function decideRemoval(
  { tx, now }: Unit,
  moderator: Moderator,
  { authorId, communityId }: { authorId: number; communityId: number },
  { reason, keepForDays = 0 }: RemovalRequest,
): Promise<NewRemoval & { by: ModerationRole; reason: ModerationReason | null }> {
  if (moderator !== "operator" && moderator.id === authorId) {
    return { by: "author", reason: null, at: now, eraseAt: null };
  }
  const isModerator = moderator === "operator" || (await findModerator(tx, communityId, moderator.id)).isModerator;
  if (!isModerator) throw forbidden("Only the author and the moderators of the community may remove this.");
  if (reason === undefined) throw badInput("reason", "reason is required, unless you remove your own words.");
  const keptMs = moderator === "operator" ? keepForDays * dayMs : keptByModeratorMs;
  return {
    by: moderator === "operator" ? "operator" : "moderator",
    reason,
    at: now,
    eraseAt: keptMs === 0 || erasedAtOnce.has(reason) ? null : now + keptMs,
  };
}

/**
 * Decides whether somebody may restore a removed post or comment.
 * @param removedBy in which role it was removed; undefined if it stands
 * @throws StoaError `forbidden`
 */
export async function checkRestorer(
  db: Queryable,
  moderator: Moderator,
  { authorId, communityId }: { authorId: number; communityId: number },
  removedBy: string | undefined,
): Promise<void> {
  await checkModerator(db, moderator, communityId);
  if (moderator === "operator") return;
  if (moderator.id === authorId) {
    throw forbidden("Authors do not restore their own words; another moderator may do that.");
  }
  if (removedBy === "operator") {
    throw forbidden("The operator removed this; only the operator restores it.");
  }
}
