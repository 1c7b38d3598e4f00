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
 * Reads a cursor of a list by time.
 * @param list what the cursor names before its values
 * @param what the list, for the error
 * @param timeOf finds the time of the element with an id. Cursors of the previous version have the id alone; undefined for
 * lists whose cursors always had both
 * @returns undefined without a cursor
 * @throws StoaError `bad_input`, field `cursor`
 */
export async function decodeTimePosition(
  cursor: string | undefined,
  list: Cursor,
  what: string,
  timeOf?: (id: number) => Promise<number | undefined>,
): Promise<TimePosition | undefined> {
  if (cursor === undefined) return undefined;
  const values = valuesOf(cursor, list);
  const [first, second, ...rest] = values?.every((value) => Number.isSafeInteger(value)) ? (values as number[]) : [];
  if (first !== undefined && rest.length === 0) {
    if (second !== undefined) return { createdAt: first, id: second };
    const createdAt = await timeOf?.(first);
    if (createdAt !== undefined) return { createdAt, id: first };
  }
  throw badInput("cursor", `This is not a cursor of ${what}.`);
}

/** What a cursor holds after the name of its list; undefined if it names another one. @throws StoaError `bad_input` */
export function valuesOf(cursor: string, list: Cursor): Cursor | undefined {
  const decoded = decodeCursor(cursor);
  return list.every((value, index) => decoded[index] === value) ? decoded.slice(list.length) : undefined;
}

function isScalar(value: unknown): value is string | number | null {
  return value === null || typeof value === "string" || typeof value === "number";
}
