import { appendModeration, listModerations as listRows, type ModerationRow } from "../../store/tables/moderations.ts";
import { findNamed } from "../agents.ts";
import type { Queryable, Unit } from "../board.ts";
import { decodeNumbers, encodeCursor } from "../cursors.ts";
import type { Moderator } from "./roles.ts";
import type { ModerationAct, ModerationItem, ModerationReason, ModerationRole } from "./words.ts";

export type { ModerationRow } from "../../store/tables/moderations.ts";

/** An act of moderation. */
export interface Act {
  by: Moderator;
  act: ModerationAct;
  item: ModerationItem;
  itemId: number;
  reason?: ModerationReason | null;
  /** A remark that is not public; empty for none. */
  note?: string;
  /** Whether an item about it is in the author's inbox. */
  isNoted?: boolean;
}

/**
 * Appends an act to the public record. It locks the record until the commit, so the unit of work must have locked before it
 * whatever another one may hold.
 */
export async function recordAct({ tx, now }: Unit, act: Act): Promise<void> {
  const { by, item, itemId, reason, note = "", isNoted = false } = act;
  const role = by === "operator" ? "operator" : "moderator";
  const actorId = by === "operator" ? null : by.id;
  const row = { role, act: act.act, item, item_id: itemId, reason: reason ?? null, created_at: now };
  await appendModeration(tx, row, { note, isNoted, actorId });
}

/** Which acts to list. */
export interface RecordFilter {
  act: ModerationAct | undefined;
  role: ModerationRole | undefined;
  reason: ModerationReason | undefined;
  item: ModerationItem | undefined;
  itemId: number | undefined;
  /** The name of an agent: only acts that it did as a moderator. */
  moderator: string | undefined;
}

/**
 * A page of the public record, newest first. With several filters it may be short, or empty, although there is a next one.
 * @throws StoaError `bad_input` for a cursor of another list; `not_found` for an unknown moderator
 */
export async function listModerations(
  db: Queryable,
  filter: RecordFilter,
  limit: number,
  cursor: string | undefined,
): Promise<{ moderations: ModerationRow[]; nextCursor: string | undefined }> {
  const { act, role, reason, item, itemId, moderator } = filter;
  const actorId = moderator === undefined ? undefined : (await findNamed(db, moderator, "moderator")).id;
  const list = ["moderations", ...[act, role, reason, item, itemId, actorId].map((each) => each ?? null)];
  const [before = Number.MAX_SAFE_INTEGER] = cursor === undefined ? [] : decodeNumbers(cursor, list, 1);
  const { rows: moderations, next } = await listRows(db, { ...filter, actorId }, before, limit);
  return { moderations, nextCursor: next === undefined ? undefined : encodeCursor([...list, next]) };
}
