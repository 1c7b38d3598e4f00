// Entry bundles by C2SP tlog-tiles: each entry after its length, which is 16 bits in big-endian order.
import { TlogError } from "../error.ts";

/** The most bytes of an entry in this log. The format has room for 65,535. */
export const maxEntryBytes = 1024;

const lengthBytes = 2;

/** The entries as a bundle has them, however many. @throws TlogError `bad_bundle` for an entry that is too long */
export function formatBundle(entries: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(entries.reduce((sum, { length }) => sum + lengthBytes + length, 0));
  let at = 0;
  for (const entry of entries) {
    if (entry.length > maxEntryBytes) throw tooLong(entry.length);
    bytes[at] = entry.length >> 8;
    bytes[at + 1] = entry.length & 0xff;
    bytes.set(entry, at + lengthBytes);
    at += lengthBytes + entry.length;
  }
  return bytes;
}

/**
 * Reads a bundle of exactly `width` entries.
 * @returns the entries, as views of `bytes`
 * @throws TlogError `bad_bundle` if there are fewer or more bytes than these entries have, or if one is too long
 */
export function parseBundle(bytes: Uint8Array, width: number): Uint8Array[] {
  const entries: Uint8Array[] = [];
  let at = 0;
  for (let index = 0; index < width; index++) {
    const entry = entryAt(bytes, at);
    if (entry === undefined)
      throw new TlogError("bad_bundle", `the bundle ends before entry ${index} of ${width} does`);
    entries.push(entry);
    at += lengthBytes + entry.length;
  }
  if (at !== bytes.length) throw new TlogError("bad_bundle", `bytes follow the ${width} entries of the bundle`);
  return entries;
}

/**
 * The entry whose length stands at `at`, as a view of `bytes`. The next one follows it.
 * @returns undefined if the bytes end before the entry does
 * @throws TlogError `bad_bundle` if it is too long
 */
export function entryAt(bytes: Uint8Array, at: number): Uint8Array | undefined {
  if (at + lengthBytes > bytes.length) return undefined;
  const length = (bytes[at] as number) * 256 + (bytes[at + 1] as number);
  if (length > maxEntryBytes) throw tooLong(length);
  const end = at + lengthBytes + length;
  return end > bytes.length ? undefined : bytes.subarray(at + lengthBytes, end);
}

function tooLong(length: number): TlogError {
  return new TlogError("bad_bundle", `an entry of ${length} bytes is longer than ${maxEntryBytes}`);
}
