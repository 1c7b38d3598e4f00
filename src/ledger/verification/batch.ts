// Receipts that are verified at once, in a form that is cheap to hand to a thread: few objects, and one buffer that is moved.
import { CanonicalScanner } from "../../receipt/fast-path/canonical-scanner.ts";
import { scanSession } from "../../receipt/fast-path/session.ts";
import { type Head, rivalOf } from "../../receipt/recovery.ts";
import { type Link, verifyNext } from "../../receipt/verify.ts";
import type { ReceiptRow } from "../../store/tables/receipts.ts";
import { sha256 } from "../sealing/append.ts";

export interface Page {
  /** What the first receipt is taken to follow. */
  previous: { seq: number; hash: string };
  /** The hashes that are recorded beside the receipts, end to end. */
  hashes: string;
  /** Where the bytes of each receipt end. */
  ends: number[];
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * What verifying a page gave: undefined when any of it is not good. None of `rivals`, which recoveries abandon, may be in the
 * chain; that remains to be checked.
 */
export type BatchOutcome = { firstTs: string; last: Link; rivals: Head[] } | undefined;

const hashLength = 64;

/**
 * @param rows whose seqs follow `previous` without a gap
 * @param buffer to copy the bytes to, if it is large enough
 * @returns undefined for rows of which one is seen not to be good as it is: its recorded prev_hash is not the recorded hash
 * of the receipt before, which is what a good document's must be
 */
export function packBatch(
  previous: Page["previous"],
  rows: readonly ReceiptRow[],
  buffer?: ArrayBuffer,
): Page | undefined {
  const ends: number[] = [];
  let length = 0;
  let hash = previous.hash;
  let hashes = "";
  for (const row of rows) {
    if (row.prev_hash !== hash || row.hash.length !== hashLength) return undefined;
    hash = row.hash;
    hashes += hash;
    length += row.canonical.length;
    ends.push(length);
  }
  const bytes = new Uint8Array(buffer !== undefined && buffer.byteLength >= length ? buffer : new ArrayBuffer(length));
  let begin = 0;
  for (const { canonical } of rows) {
    bytes.set(canonical, begin);
    begin += canonical.length;
  }
  return { previous, hashes, ends, bytes };
}

/** Verifies the receipts of a page, one after another. Whether the first is older than the one before is not seen here. */
export function verifyBatch({ previous, hashes, ends, bytes }: Page): BatchOutcome {
  const reader = new CanonicalScanner(bytes);
  let link: Link = previous;
  let firstTs: string | undefined;
  const rivals: Head[] = [];
  let begin = 0;
  for (const [index, end] of ends.entries()) {
    const canonical = bytes.subarray(begin, end);
    const hash = hashes.slice(index * hashLength, (index + 1) * hashLength);
    reader.moveTo(begin, end);
    const next = verifyReceipt(link, canonical, hash, reader, rivals);
    if (next === undefined) return undefined;
    link = next;
    firstTs ??= link.ts;
    begin = end;
  }
  return firstTs === undefined ? undefined : { firstTs, last: link, rivals };
}

/**
 * @param reader has the same bytes before it
 * @param rivals gets what must be checked besides
 * @returns the receipt after `previous`; undefined when it is not good
 */
function verifyReceipt(
  previous: Link,
  bytes: Uint8Array,
  hash: string,
  reader: CanonicalScanner,
  rivals: Head[],
): Link | undefined {
  const seq = previous.seq + 1;
  const computedHash = sha256(bytes);
  const ts = computedHash === hash ? scanSession(reader, previous) : undefined;
  if (ts !== undefined && (previous.ts === undefined || ts >= previous.ts)) return { seq, hash: computedHash, ts };
  const verdict = verifyNext(previous, { bytes, computedHash, seq, hash, prevHash: previous.hash });
  if (!verdict.ok) return undefined;
  const rival = rivalOf(verdict.document);
  if (rival !== undefined) rivals.push(rival);
  return verdict.link;
}
