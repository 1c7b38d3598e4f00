/*
 * Lists by time are ordered by the time and then by the id. Each server of a cluster gives out ids (AUTO_INCREMENT) in its own
 * order. So an id only identifies a row; it does not tell which of two rows is newer.
 */

/** A place in a list by time, between elements: after the one with these values. */
export interface TimePosition {
  /** In milliseconds since 1970 (UTC). */
  createdAt: number;
  /** Breaks ties. */
  id: number;
}

export interface TimeOrder {
  orderBy: string;
  /** The condition for "after this position", as ranges of an index: for a row comparison, the engines use no index. */
  behind: string;
  values(position: TimePosition): number[];
  compare(a: TimedRow, b: TimedRow): number;
  /** The position before the first element. */
  start: TimePosition;
}

interface TimedRow {
  id: number;
  created_at: number;
}

const max = Number.MAX_SAFE_INTEGER;
const values = ({ createdAt, id }: TimePosition) => [createdAt, createdAt, id];

export const oldestFirst: TimeOrder = {
  orderBy: "created_at, id",
  behind: "(created_at > ? OR (created_at = ? AND id > ?))",
  values,
  compare: (a, b) => a.created_at - b.created_at || a.id - b.id,
  start: { createdAt: 0, id: 0 },
};

export const newestFirst: TimeOrder = {
  orderBy: "created_at DESC, id DESC",
  behind: "(created_at < ? OR (created_at = ? AND id < ?))",
  values,
  compare: (a, b) => oldestFirst.compare(b, a),
  start: { createdAt: max, id: max },
};
