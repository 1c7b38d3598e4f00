import { type InboxItemRow, listItems } from "../../store/tables/inbox-items.ts";
import { deleteItem, lockInbox, putReadUpTo } from "../../store/tables/inboxes.ts";
import type { Caller } from "../agents.ts";
import type { Queryable, Unit } from "../board.ts";
import { decodeNumbers, encodeCursor } from "../cursors.ts";

export type { InboxItemRow } from "../../store/tables/inbox-items.ts";

/** A page of an inbox. */
export interface InboxPage {
  items: InboxItemRow[];
  nextCursor: string | undefined;
  /** The ids of items about what no longer stands. An older version of Stoa has removed that, and knows no items. */
  stale: number[];
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
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    items: page.filter(isShown),
    nextCursor: last && encodeCursor([list, last.id]),
    stale: page.filter((row) => !isShown(row)).map(({ id }) => id),
  };
}

/** Whether an item is shown. Items about acts of moderation outlast what they are about. */
export function isShown({ type, stands }: InboxItemRow): boolean {
  return stands === 1 || type === "moderation";
}

/** Deletes items that are stale, see `InboxPage`. */
export async function deleteStaleItems({ tx }: Unit, agentId: number, ids: readonly number[]): Promise<void> {
  await lockInbox(tx, agentId);
  for (const id of ids) await deleteItem(tx, { agent_id: agentId, id });
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
