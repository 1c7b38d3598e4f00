import { CanonicalError, canonicalize, type Json } from "./canonical.ts";
import { findMalformedMember, isHash, type ReceiptDocument, zeroHash } from "./document.ts";
import { CanonicalScanner } from "./fast-path/canonical-scanner.ts";
import { parseJson } from "./parse.ts";
import { abandonedBy, contradiction } from "./recovery.ts";

/** Why a receipt does not verify. */
export type Fault =
  /** The bytes are not UTF-8. */
  | "not_utf8"
  /** The bytes are not one JSON text. */
  | "not_json"
  /** They are JSON, but not in canonical form: order, white space, number, escape, depth, a key twice, half a character. */
  | "not_canonical"
  /** A member of the document is missing or malformed, or it is a genesis without being receipt 1, or the reverse. */
  | "bad_document"
  /** The bytes do not hash to the hash that was recorded, or the last ones not to the head's. */
  | "wrong_hash"
  /** A receipt was left out: its seq is beyond the one expected. */
  | "gap"
  /** A receipt comes again: its seq is below the one expected. */
  | "repeat"
  /** prev_hash is not the hash of the receipt before. */
  | "wrong_prev_hash"
  /** body.count is not seq - 1, or a daily's head_seq is not. */
  | "wrong_count"
  /** body.head is not prev_hash. */
  | "wrong_head"
  /** ts is older than the receipt's before. */
  | "wrong_ts"
  /** A recovery abandons a receipt that is part of the chain. */
  | "wrong_recovery"
  /** The chain ends before the head that was promised. */
  | "truncated"
  /** The chain goes on after the head that was promised: somebody added receipts, or moved the head back. */
  | "beyond_head";

/** The first receipt that does not verify. */
export interface Finding {
  seq: number;
  fault: Fault;
  /** For people: what was found and what was expected. */
  message: string;
}

/** The state of a verification: the last receipt that was found good. */
export interface Link {
  seq: number;
  /** In the form of a hash: computed, or from where it was remembered. */
  hash: string;
  /** Undefined before the first receipt, and where only the hash of the last one is known. */
  ts?: string | undefined;
}

/** Before receipt 1. */
export const chainStart: Link = { seq: 0, hash: zeroHash };

/** A receipt as it comes from a store or a stream: nothing of it is believed yet. */
export interface UntrustedReceipt {
  /** The canonical bytes. */
  bytes: Uint8Array;
  /** SHA-256 of `bytes`, computed by the verifier itself, in lower-case hexadecimal. */
  computedHash: string;
  /** What the source recorded beside the bytes, where it did. */
  seq?: number | undefined;
  hash?: string | undefined;
  prevHash?: string | undefined;
}

export type Verdict = { ok: true; link: Link; document: ReceiptDocument } | { ok: false; finding: Finding };

/**
 * Checks the receipt that must follow `previous`. It computes no hash itself, so that it serves synchronous hashes and
 * WebCrypto's alike. Every rule of FORMAT.md is here and nowhere else, but for those that need more than the receipt before:
 * a recovery is compared with an older one by whoever can look that up (`rivalOf`). The first that is broken is the finding.
 */
export function verifyNext(previous: Link, claim: UntrustedReceipt): Verdict {
  const expected = previous.seq + 1;
  const fail = (fault: Fault, message: string): Verdict => ({ ok: false, finding: { seq: expected, fault, message } });

  if (claim.seq !== undefined && claim.seq !== expected) {
    const fault = claim.seq > expected ? "gap" : "repeat";
    return fail(fault, `receipt ${claim.seq} comes where ${expected} is due`);
  }
  if (claim.hash !== undefined && claim.hash !== claim.computedHash) {
    return fail("wrong_hash", `the bytes hash to ${claim.computedHash}; recorded is ${printable(claim.hash)}`);
  }
  const read = readDocument(claim.bytes, previous.hash);
  if ("fault" in read) return fail(read.fault, read.message);
  const { document } = read;
  if (document.seq !== expected) {
    return fail(document.seq > expected ? "gap" : "repeat", `the document says seq ${document.seq}, not ${expected}`);
  }
  if (document.prev_hash !== previous.hash) {
    return fail("wrong_prev_hash", `prev_hash is ${document.prev_hash}; the receipt before hashes to ${previous.hash}`);
  }
  if (claim.prevHash !== undefined && claim.prevHash !== document.prev_hash) {
    return fail(
      "wrong_prev_hash",
      `recorded beside the document is prev_hash ${printable(claim.prevHash)}, not the document's own`,
    );
  }
  const { body } = document;
  if (body.count !== expected - 1) return fail("wrong_count", `body.count is ${body.count}, not ${expected - 1}`);
  if (body.type === "daily" && body.head_seq !== expected - 1) {
    return fail("wrong_count", `body.head_seq is ${body.head_seq}, not ${expected - 1}`);
  }
  if (body.head !== document.prev_hash) return fail("wrong_head", `body.head is ${body.head}, not prev_hash`);
  if (previous.ts !== undefined && document.ts < previous.ts) {
    return fail("wrong_ts", `ts is ${document.ts}, older than ${previous.ts} of the receipt before`);
  }
  // A hash stands for one receipt, whatever seq is named beside it.
  const abandoned = abandonedBy(document);
  if (abandoned?.hash === previous.hash) return { ok: false, finding: contradiction(expected, abandoned) };
  return { ok: true, link: { seq: expected, hash: claim.computedHash, ts: document.ts }, document };
}

/** Checks that a chain which ended at `last` reaches the head that was promised, and is the same there. */
export function verifyEnd(last: Link, head: { seq: number; hash: string }): Finding | undefined {
  if (last.seq < head.seq) {
    return { seq: last.seq + 1, fault: "truncated", message: `the chain ends at ${last.seq}; its head is ${head.seq}` };
  }
  if (last.seq > head.seq) {
    return {
      seq: head.seq + 1,
      fault: "beyond_head",
      message: `there are receipts up to ${last.seq}; the head is ${head.seq}`,
    };
  }
  if (last.hash !== head.hash) {
    return {
      seq: last.seq,
      fault: "wrong_hash",
      message: `the head's hash is ${printable(head.hash)}; the receipt's is ${last.hash}`,
    };
  }
  return undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readDocument(
  bytes: Uint8Array,
  knownHash: string,
): { document: ReceiptDocument } | { fault: Fault; message: string } {
  let text: string;
  let value: Json;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { fault: "not_utf8", message: "the bytes are not UTF-8" };
  }
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return { fault: "not_json", message: "the bytes are not JSON" };
    // Not every engine's JSON.parse is free of recursion.
    return { fault: "not_canonical", message: "the document is nested deeper than this engine reads" };
  }
  try {
    // JSON.parse keeps the last of two members with one name, so a key that comes twice does not survive this either.
    if (!isCertainlyCanonical(bytes) && canonicalize(value) !== text)
      return { fault: "not_canonical", message: "the bytes are not in canonical form" };
  } catch (error) {
    if (!(error instanceof CanonicalError)) throw error;
    return { fault: "not_canonical", message: `the document has no canonical form: ${error.message}` };
  }
  const member = findMalformedMember(value, knownHash);
  if (member !== undefined) return { fault: "bad_document", message: `${member} is missing or malformed` };
  return { document: value as unknown as ReceiptDocument };
}

/** Finds most canonical texts to be so without writing them anew. @param bytes UTF-8 */
function isCertainlyCanonical(bytes: Uint8Array): boolean {
  const reader = new CanonicalScanner(bytes);
  return reader.value() && reader.isAtEnd;
}

/** What a source says is a hash may be anything, and messages end up on terminals. */
function printable(hash: string): string {
  return isHash(hash) ? hash : "no hash";
}
