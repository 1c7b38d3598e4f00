import type { Queryable } from "../store/database/queryable.ts";
import { findNewestLogEntry, type LogEntryRow, listLogEntriesOf } from "../store/tables/log-entries.ts";
import { toUtf8 } from "../tlog/encoding.ts";
import { parseEntry } from "../tlog/entries/entry-text.ts";
import type { Range } from "../tlog/tree/ranges.ts";

/** How many recoveries are read at most. */
const maxRecoveries = 1_000;

/** The entries whose rows are lost, by the recoveries in the log. What they say is void. @throws TlogError `bad_entry` */
export async function readLostRanges(db: Queryable): Promise<Range[]> {
  const rows = await listLogEntriesOf(db, "recovery", 0, 0, maxRecoveries);
  return rows.flatMap(({ entry: text }) => {
    const entry = parseEntry(toUtf8(text));
    return entry.type === "recovery" ? [[entry.from, entry.to] as const] : [];
  });
}

export function isLost(ranges: readonly Range[], index: number): boolean {
  return ranges.some(([from, to]) => index >= from && index < to);
}

/**
 * The newest entry that commits to the text of an item and is not void.
 * @param among how many of the newest entries of the item each query looks at; by default all
 */
export async function findStandingEntry(
  db: Queryable,
  item: string,
  id: number,
  ranges: readonly Range[],
  among?: number,
): Promise<LogEntryRow | undefined> {
  let entry = await findNewestLogEntry(db, item, id, "content", { among });
  // Each range is skipped once at most: the next query looks before it.
  for (const _ of ranges) {
    const lost: Range | undefined = ranges.find(([from, to]) => entry && entry.idx >= from && entry.idx < to);
    if (lost === undefined) return entry;
    entry = await findNewestLogEntry(db, item, id, "content", { before: lost[0], among });
  }
  return entry;
}
