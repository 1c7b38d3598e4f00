// Receipts that are verified at once, in a form that is cheap to hand to a thread: few objects, and one buffer that is moved.
import { type Link, verifyNext } from "../receipt/verify.ts";
import type { ReceiptRow } from "../store/receipts.ts";
import { sha256 } from "./chain.ts";

export interface Page {
  /** What the first receipt is taken to follow. */
  previous: { seq: number; hash: string };
  /** The hashes that are recorded beside the receipts, end to end. */
  hashes: string;
  /** Where the bytes of each receipt end. */
  ends: number[];
  bytes: Uint8Array<ArrayBuffer>;
}

/** What verifying a page gave: undefined when any of it is not good. */
export type PageOutcome = { firstTs: string; last: Link } | undefined;

const hashLength = 64;

/**
 * @param rows whose seqs follow `previous` without a gap
 * @param buffer to copy the bytes to, if it is large enough
 * @returns undefined for rows of which one is seen not to be good as it is: its recorded prev_hash is not the recorded hash
 * of the receipt before, which is what a good document's must be
 */
export function packPage(
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
export function verifyPage({ previous, hashes, ends, bytes }: Page): PageOutcome {
  let link: Link = previous;
  let firstTs: string | undefined;
  let begin = 0;
  for (const [index, end] of ends.entries()) {
    const canonical = bytes.subarray(begin, end);
    begin = end;
    const verdict = verifyNext(link, {
      bytes: canonical,
      computedHash: sha256(canonical),
      seq: link.seq + 1,
      hash: hashes.slice(index * hashLength, (index + 1) * hashLength),
      prevHash: link.hash,
    });
    if (!verdict.ok) return undefined;
    link = verdict.link;
    firstTs ??= link.ts;
  }
  return firstTs === undefined ? undefined : { firstTs, last: link };
}
