// What belongs in the log and has no index yet.
import type { Queryable } from "../../store/database/queryable.ts";
import type { NewLogEntry } from "../../store/tables/log-entries.ts";
import type { LogState } from "../../store/tables/log-head.ts";
import { listOutbox, type OutboxRow } from "../../store/tables/log-outbox.ts";
import { listModerationsAfter, type ModerationRow } from "../../store/tables/moderations.ts";
import { listReceiptSummaries, type ReceiptSummary } from "../../store/tables/receipts.ts";
import type { Entry } from "../../tlog/entries/entry.ts";
import { formatEntry } from "../../tlog/entries/entry-text.ts";
import { TlogError } from "../../tlog/error.ts";

/** How many entries one transaction adds at most. */
export const maxBatch = 1_024;

/** Entries for one transaction, in their order: those of the outbox, then acts, then receipts. */
export interface Pending {
  outbox: readonly OutboxRow[];
  records: readonly NewLogEntry[];
  /** The newest act and the newest receipt that have entries after this transaction. */
  acts: number;
  receipts: number;
}

/** What waits longest; undefined if nothing does. It stays the same until somebody sequences it. */
export function whatWaits({ oldest, acts, newestAct, receipts, newestReceipt }: LogState): string | undefined {
  if (oldest !== null) return `entry ${oldest}`;
  if ((newestAct ?? 0) > acts) return `act ${acts + 1}`;
  return (newestReceipt ?? 0) > receipts ? `receipt ${receipts + 1}` : undefined;
}

/**
 * Reads what comes next. The outbox is read after the state, and only the acts and receipts that the state shows are taken. So
 * every entry that belongs before one of them is found.
 * @param db reads from the server of the state, and must see at least what the state shows
 * @param floor as in `listOutbox`
 * @param beginsAt when the log began, in milliseconds since 1970 (UTC). Entries of older acts and receipts are `imported`
 */
export async function readPending(
  db: Queryable,
  { acts, newestAct, receipts, newestReceipt }: LogState,
  floor: number,
  beginsAt: number,
): Promise<Pending> {
  const outbox = await listOutbox(db, floor, maxBatch);
  const room = maxBatch - outbox.length;
  const newActs = (newestAct ?? 0) > acts && room > 0 ? await listModerationsAfter(db, acts, newestAct ?? 0, room) : [];
  const records: NewLogEntry[] = [];
  // fsck reports a damaged act or receipt. Everything before it goes on.
  for (const act of withoutGap(newActs, acts, "id")) {
    const record = entryOfAct(act, beginsAt);
    if (record === undefined) break;
    records.push(record);
  }
  const actsThen = acts + records.length;
  const left = Math.min(room - records.length, (newestReceipt ?? 0) - receipts);
  const newReceipts = left > 0 ? await listReceiptSummaries(db, receipts, left) : [];
  for (const receipt of withoutGap(newReceipts, receipts, "seq")) {
    const record = entryOfReceipt(receipt, beginsAt);
    if (record === undefined) break;
    records.push(record);
  }
  return { outbox, records, acts: actsThen, receipts: receipts + records.length - (actsThen - acts) };
}

/** The rows up to the first that is missing. */
function withoutGap<Key extends string, Row extends Record<Key, number>>(
  rows: readonly Row[],
  after: number,
  key: Key,
): Row[] {
  const gap = rows.findIndex((row, at) => row[key] !== after + 1 + at);
  return rows.slice(0, gap === -1 ? rows.length : gap);
}

/** The entry of an act. @param beginsAt as in `readPending`. @returns undefined if a value of the act cannot be right */
export function entryOfAct(row: ModerationRow, beginsAt: number): NewLogEntry | undefined {
  const { id, act, item, item_id, reason, role, created_at } = row;
  const time = new Date(created_at);
  if (Number.isNaN(time.getTime())) return undefined;
  const entry: Entry = { type: "act", id, act, item, item_id, reason, role, ts: time.toISOString() };
  return format({ item, item_id }, entry, created_at, beginsAt);
}

/** The entry of a receipt. @param beginsAt as in `readPending`. @returns undefined if its time or hash cannot be read */
export function entryOfReceipt({ seq, hash, tail }: ReceiptSummary, beginsAt: number): NewLogEntry | undefined {
  const [, ts] = /^"ts":"([-0-9T:.]{23}Z)","v":1\}$/.exec(tail.toString("latin1")) ?? [];
  const time = Date.parse(ts ?? "");
  if (ts === undefined || Number.isNaN(time)) return undefined;
  return format({ item: "receipt", item_id: seq }, { type: "receipt", seq, hash, ts }, time, beginsAt);
}

/** @returns undefined if the entry is malformed */
function format(
  about: Pick<NewLogEntry, "item" | "item_id">,
  entry: Entry,
  time: number,
  beginsAt: number,
): NewLogEntry | undefined {
  try {
    return { ...about, entry: formatEntry(time < beginsAt ? { ...entry, imported: true } : entry) };
  } catch (error) {
    if (error instanceof TlogError) return undefined;
    throw error;
  }
}
