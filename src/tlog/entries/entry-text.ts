// An entry as its exact bytes: RFC 8785 in ASCII.
import { fromUtf8, toUtf8 } from "../encoding.ts";
import { TlogError } from "../error.ts";
import { maxEntryBytes } from "../tiles/bundle.ts";
import { canonicalText, type JsonObject, parseCanonicalObject } from "./canonical-text.ts";
import type { Entry, UnknownEntry } from "./entry.ts";
import { findBadEntryMember, isKnownType } from "./members.ts";

/**
 * Returns the text of an entry. It is ASCII: its characters are the bytes that are hashed.
 * @throws TlogError `bad_entry` for what would not parse
 */
export function formatEntry(entry: Entry): string {
  const value = { ...entry, v: 1 } as unknown as JsonObject;
  const text = canonicalText(value);
  if (text === undefined) throw badEntry("it has no canonical form");
  checkEntry(text, value);
  return text;
}

/** The bytes of an entry. @throws TlogError `bad_entry` */
export function entryBytes(entry: Entry): Uint8Array<ArrayBuffer> {
  return toUtf8(formatEntry(entry));
}

/**
 * Reads an entry. Types of later versions and unknown members are no fault.
 * @throws TlogError `bad_entry`
 */
export function parseEntry(bytes: Uint8Array): Entry | UnknownEntry {
  if (bytes.length > maxEntryBytes) throw badEntry(`it has more than ${maxEntryBytes} bytes`);
  const text = fromUtf8(bytes);
  const entry = text === undefined ? undefined : parseCanonicalObject(text);
  if (text === undefined || entry === undefined) throw badEntry("it is not an object in canonical JSON");
  checkEntry(text, entry);
  const type = entry.type as string;
  if (isKnownType(type)) return entry as unknown as Entry;
  return { type: "unknown", named: type, ts: entry.ts as string, members: entry };
}

function checkEntry(text: string, entry: JsonObject): void {
  if (text.length > maxEntryBytes) throw badEntry(`it has more than ${maxEntryBytes} bytes`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII. JSON writes controls as escapes.
  if (!/^[\u0000-\u007f]*$/.test(text)) throw badEntry("it is not ASCII");
  const bad = findBadEntryMember(entry);
  if (bad !== undefined) throw badEntry(`${bad} is missing or malformed`);
}

function badEntry(why: string): TlogError {
  return new TlogError("bad_entry", `the entry is malformed: ${why}`);
}
