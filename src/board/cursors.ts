import { badInput } from "../errors.ts";

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

function isScalar(value: unknown): value is string | number | null {
  return value === null || typeof value === "string" || typeof value === "number";
}
