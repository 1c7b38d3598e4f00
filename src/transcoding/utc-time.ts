const MS_PER_DAY = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));

/** The last written day, counted from 1970-01-01. Most times of a reply are on a few days. */
let lastDay = 0;
let lastDate = "1970-01-01";

/** The years 1 to 9999 in milliseconds since 1970 (UTC): the range of RFC 3339 and google.protobuf.Timestamp. */
export const [firstMs, lastMs] = [-62_135_596_800_000, 253_402_300_799_999];

/**
 * Same as `new Date(ms).toISOString()` for the years 1 to 9999, but several times as fast: 2026-01-31T23:59:59.000Z.
 * @param ms milliseconds since 1970-01-01T00:00:00Z, a whole number
 * @throws RangeError for other years
 */
export function toUtcText(ms: number): string {
  if (!(ms >= firstMs && ms <= lastMs)) throw new RangeError(`${ms} ms are beyond the years of RFC 3339`);
  const day = Math.floor(ms / MS_PER_DAY);
  if (day !== lastDay) {
    lastDay = day;
    lastDate = new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
  }
  const seconds = Math.floor(ms / 1000) - day * 86_400;
  const minutes = Math.floor(seconds / 60);
  const time = `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`;
  return `${lastDate}T${time}.${String(ms - Math.floor(ms / 1000) * 1000).padStart(3, "0")}Z`;
}
