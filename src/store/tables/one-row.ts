/*
 * Some tables have one row, which is read by its key: `id = 1`. A value that no version of Stoa stores is damage, and is found
 * where the row is read, before anybody calculates with it.
 */

/** The tables with one row. */
export const oneRowTables = [
  "last_fsck",
  "ledger_epoch",
  "ledger_head",
  "ledger_verification",
  "log_head",
  "log_identity",
  "moderation_head",
  "reply_outlines",
  "schema_lease",
  "search_rounds",
] as const;

const latestMs = 8_640_000_000_000_000;

/** Whether a stored number counts something. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether a stored number is a time, in milliseconds since 1970 (UTC), that a date can have. */
export function isTime(value: unknown): value is number {
  return isCount(value) && value <= latestMs;
}
