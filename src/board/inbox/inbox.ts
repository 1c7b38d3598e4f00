import { type InboxItemRow, listItems } from "../../store/tables/inbox-items.ts";
import { lockInbox, putReadUpTo } from "../../store/tables/inboxes.ts";
import type { Caller } from "../agents.ts";
import type { Queryable, Unit } from "../board.ts";
import { decodeNumbers, encodeCursor } from "../cursors.ts";

export type { InboxItemRow } from "../../store/tables/inbox-items.ts";

/** A page of an inbox. */
export interface InboxPage {
  items: InboxItemRow[];
  nextCursor: string | undefined;
}

/** Which part of an inbox to list. */
export interface InboxQuery {
  /** Whether only the items that are not marked as read are listed. */
  unread: boolean;
  limit: number;
  cursor: string | undefined;
}

/**
 * A page of the caller's inbox, newest first.
 * @throws StoaError `bad_input` for a cursor of something else
 */
export async function listInbox(
  db: Queryable,
  caller: Caller,
  { unread, limit, cursor }: InboxQuery,
): Promise<InboxPage> {
  const list = unread ? "inbox-unread" : "inbox";
  const [before = Number.MAX_SAFE_INTEGER] = cursor === undefined ? [] : decodeNumbers(cursor, [list], 1);
  const rows = await listItems(db, caller.id, { before, unread, limit: limit + 1 });
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last && encodeCursor([list, last.id]) };
}

/**
 * Marks the items of the caller's inbox up to an id as read. It never marks an item as unread.
 * @returns how many items are unread then
 */
export async function markInboxRead(unit: Unit, caller: Caller, upTo: number): Promise<number> {
  const { tx } = unit;
  const inbox = await lockInbox(tx, caller.id);
  const to = Math.min(upTo, inbox?.newest ?? 0);
  if (inbox === undefined || to <= inbox.read_up_to) {
    unit.unchanged = true;
    return inbox?.unread ?? 0;
  }
  return putReadUpTo(tx, caller.id, inbox, to);
}
