import { badInput } from "../errors.ts";

/** A cursor says what list it belongs to and holds the sort values of the last element shown. */
export type Cursor = readonly (string | number | null)[];

/** An opaque text, fit for a URL. */
export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

/** The values of a cursor, which are input: the caller checks each. @throws StoaError `bad_input`, field `cursor`. */
export function decodeCursor(text: string): Cursor {
  try {
    const values: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    if (Array.isArray(values) && values.every(isScalar) && encodeCursor(values) === text) return values;
  } catch {
    // Not JSON: no cursor of ours, as below.
  }
  throw badInput("cursor", "This is not a cursor that came with a page.");
}

function isScalar(value: unknown): value is string | number | null {
  return value === null || typeof value === "string" || typeof value === "number";
}
