// Dates of the ledger. All times are in milliseconds since 1970 (UTC), and all dates are UTC dates, YYYY-MM-DD.

export const dayMs = 86_400_000;

/** The date of a time. */
export function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The time at which a date begins. */
export function startOf(date: string): number {
  return Date.parse(`${date}T00:00:00.000Z`);
}

/** The number of the day in which `ts` falls. Day 1 is the date `epoch`. */
export function cityDay(ts: number, epoch: string): number {
  return Math.floor((startOf(dateOf(ts)) - startOf(epoch)) / dayMs) + 1;
}
