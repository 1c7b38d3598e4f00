import { CanonicalError, canonicalize, type Json } from "../../receipt/canonical.ts";
import { parseJson } from "../../receipt/parse.ts";

export type JsonObject = { [name: string]: Json };

/** @returns the object of a text that is RFC 8785; undefined if the text is anything else */
export function parseCanonicalObject(text: string): JsonObject | undefined {
  let value: Json;
  try {
    value = parseJson(text);
    // A duplicate name is found here, too: the parser keeps one of them.
    if (canonicalize(value) !== text) return undefined;
  } catch (error) {
    // In some engines JSON.parse is recursive, and deep texts exhaust the stack.
    if (error instanceof SyntaxError || error instanceof CanonicalError || error instanceof RangeError)
      return undefined;
    throw error;
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

/** @returns RFC 8785; undefined if the value has half of a character, or a number that is not finite */
export function canonicalText(value: JsonObject): string | undefined {
  try {
    return canonicalize(value);
  } catch (error) {
    if (error instanceof CanonicalError) return undefined;
    throw error;
  }
}
