// Batches of receipts in a form that is cheap to pass to a thread: few objects, and one buffer that is moved.
import { CanonicalScanner } from "../../receipt/fast-path/canonical-scanner.ts";
import { scanSession } from "../../receipt/fast-path/session.ts";
import { type Head, rivalOf } from "../../receipt/recovery.ts";
import { type Link, verifyNext } from "../../receipt/verify.ts";
import type { ReceiptRow } from "../../store/tables/receipts.ts";
import { sha256 } from "../sha256.ts";

export interface Batch {
  /** The receipt before the first one, as it is recorded. */
  previous: { seq: number; hash: string };
  /** The recorded hashes of the receipts, one after another. */
  hashes: string;
  /** The index at which the bytes of each receipt end. */
  ends: number[];
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The result of verifying a batch: undefined if any receipt in it is not good. `rivals` are abandoned by recoveries.
 * The caller must still check that none of them is in the chain.
 */
export type BatchOutcome = { firstTs: string; last: Link; rivals: Head[] } | undefined;

const hashLength = 64;

/**
 * Copies receipts into a batch.
 * @param rows their seqs follow `previous` without a gap
 * @param buffer is used for the bytes if it is large enough
 * @returns undefined if the rows cannot be good: the recorded prev_hash of one is not the recorded hash of the receipt
 * before
 */
export function packBatch(
  previous: Batch["previous"],
  rows: readonly ReceiptRow[],
  buffer?: ArrayBuffer,
): Batch | undefined {
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

/** Verifies the receipts of a batch in order. It does not compare the ts of the first one with the receipt before. */
export function verifyBatch({ previous, hashes, ends, bytes }: Batch): BatchOutcome {
  const scanner = new CanonicalScanner(bytes);
  let link: Link = previous;
  let firstTs: string | undefined;
  const rivals: Head[] = [];
  let begin = 0;
  for (const [index, end] of ends.entries()) {
    const canonical = bytes.subarray(begin, end);
    const hash = hashes.slice(index * hashLength, (index + 1) * hashLength);
    scanner.moveTo(begin, end);
    const next = verifyReceipt(link, canonical, hash, scanner, rivals);
    if (next === undefined) return undefined;
    link = next;
    firstTs ??= link.ts;
    begin = end;
  }
  return firstTs === undefined ? undefined : { firstTs, last: link, rivals };
}

/**
 * Verifies one receipt: on the fast path where that decides, else by the rules of `verifyNext`.
 * @param scanner is at the beginning of the same bytes
 * @param rivals gets the receipt that must not be in the chain, if this one is a recovery
 * @returns the receipt as a link; undefined if it is not good
 */
function verifyReceipt(
  previous: Link,
  bytes: Uint8Array,
  hash: string,
  scanner: CanonicalScanner,
  rivals: Head[],
): Link | undefined {
  const seq = previous.seq + 1;
  const computedHash = sha256(bytes);
  const ts = computedHash === hash ? scanSession(scanner, previous) : undefined;
  if (ts !== undefined && (previous.ts === undefined || ts >= previous.ts)) return { seq, hash: computedHash, ts };
  const verdict = verifyNext(previous, { bytes, computedHash, seq, hash, prevHash: previous.hash });
  if (!verdict.ok) return undefined;
  const rival = rivalOf(verdict.document);
  if (rival !== undefined) rivals.push(rival);
  return verdict.link;
}
