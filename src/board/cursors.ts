import { badInput } from "../errors.ts";
import type { TimePosition } from "../store/tables/time-order.ts";

/** A cursor names the list that it belongs to, and holds the sort values of the last element of a page. */
export type Cursor = readonly (string | number | null)[];

/** Encodes a cursor as an opaque text that fits into a URL. */
export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

/** Decodes a cursor. It is input, so the caller must check each value. @throws StoaError `bad_input`, field `cursor`. */
export function decodeCursor(text: string): Cursor {
  try {
    const values: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    if (Array.isArray(values) && values.every(isScalar) && encodeCursor(values) === text) return values;
  } catch {
    // A text that is not JSON is not a cursor.
  }
  throw badInput("cursor", "This is not a cursor from a page.");
}

/** Encodes the place after `last` in a list by time. */
export function encodeTimePosition(list: Cursor, last: { created_at: number; id: number }): string {
  return encodeCursor([...list, last.created_at, last.id]);
}

/**
 * Reads a cursor of a list by time; undefined without one.
 * @throws StoaError `bad_input`, field `cursor`
 */
export function decodeTimePosition(
  cursor: string | undefined,
  list: Cursor,
  what = "this list",
): TimePosition | undefined {
  if (cursor === undefined) return undefined;
  const [createdAt, id] = decodeNumbers(cursor, list, 2, what) as [number, number];
  return { createdAt, id };
}

/**
 * Reads a cursor that holds integers.
 * @param list what the cursor names before them
 * @param count how many there are
 * @param what the list, for the error
 * @throws StoaError `bad_input`, field `cursor`, for a cursor of something else
 */
export function decodeNumbers(cursor: string, list: Cursor, count: number, what = "this list"): number[] {
  const decoded = decodeCursor(cursor);
  const numbers = decoded.slice(list.length);
  const isOfList = list.every((value, index) => decoded[index] === value) && numbers.length === count;
  if (isOfList && numbers.every((value) => Number.isSafeInteger(value))) return numbers as number[];
  throw badInput("cursor", `This is not a cursor of ${what}.`);
}

function isScalar(value: unknown): value is string | number | null {
  return value === null || typeof value === "string" || typeof value === "number";
}
