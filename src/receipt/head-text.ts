import type { Json } from "./canonical.ts";
import { isHash } from "./document.ts";
import type { Head } from "./recovery.ts";

/**
 * Parses the JSON text of a file that remembers a receipt.
 * @returns all its members; undefined if it is not an object with the seq and the hash of a receipt
 */
export function parseHead(text: string): (Head & { [name: string]: Json }) | undefined {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { seq, hash } = value;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 1 || !isHash(hash)) return undefined;
  return { ...value, seq, hash };
}
