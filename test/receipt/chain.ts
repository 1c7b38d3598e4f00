// Builds chains for tests, with or without a defect. The bytes come from npm's canonicalize and not from
// src/receipt, so that a bug there cannot hide in its own test data.
import { createHash } from "node:crypto";
import oracle from "canonicalize";

/** One receipt of a vector file; FORMAT.md describes it. */
export interface VectorReceipt {
  seq?: number;
  prev_hash?: string;
  hash?: string;
  canonical?: string;
  canonical_base64?: string;
}

export interface Vector {
  description: string;
  previous?: { seq: number; hash: string };
  receipts: VectorReceipt[];
  head?: { seq: number; hash: string };
  expect: { ok: true } | { ok: false; seq: number; fault: string };
}

// biome-ignore lint/suspicious/noExplicitAny: defects give members of any type, or none
export type LooseDocument = any;

/** A change to one receipt before its hash is computed. It is the only defect: all later receipts link to it. */
export interface Change {
  document?: (document: LooseDocument) => void;
  text?: (text: string) => string;
  bytes?: (bytes: Uint8Array) => Uint8Array;
}

export interface Receipt {
  seq: number;
  prevHash: string;
  hash: string;
  bytes: Uint8Array;
}

export const zeros = "0".repeat(64);
/** A hash that no receipt of the chain has. */
export const otherHash = sha256(new TextEncoder().encode("another chain"));

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Receipt 1 is the genesis. Even receipts are sessions, each of another day; odd ones are the dailies of these days. */
export function documentAt(seq: number, prevHash: string): LooseDocument {
  const epoch = Date.UTC(2026, 0, 1);
  const day = Math.floor(seq / 2) - (seq % 2 === 0 ? 1 : 0);
  const dateOf = (day: number) => new Date(epoch + day * 86_400_000).toISOString().slice(0, 10);
  const link = { count: seq - 1, head: prevHash };
  const base = {
    v: 1,
    seq,
    kind: "seal",
    city_day: day + 1,
    book: null as string | null,
    actor: { agent: "stoa", seat: "clerk" },
    prev_hash: prevHash,
    refs: [],
  };
  if (seq === 1) {
    const evidence = { note: "The chain begins here.", source: "/house/verify?from=0" };
    const body = { type: "genesis", ...link, note: "The first receipt." };
    return { ...base, ts: "2026-01-01T09:00:00.000Z", evidence, body };
  }
  if (seq % 2 === 0) {
    const session = dateOf(day);
    const evidence = { session, source: "feed:harbour/grain", bushels: 1200 + seq };
    const body = { type: "session", ...link, note: "The market closed in order.", session };
    const actor = { agent: "operator", seat: "desk" };
    return { ...base, ts: `${session}T13:31:07.25${seq % 10}Z`, book: "grain", actor, evidence, body };
  }
  const evidence = { note: "Verified from the start.", source: "/house/verify?from=0" };
  const body = { type: "daily", ...link, date: dateOf(day - 1), head_seq: seq - 1, verify_ok: true };
  return { ...base, ts: `${dateOf(day)}T00:00:04.12${seq % 10}Z`, evidence, body };
}

/** A chain of `length` receipts after `previous`. Each is linked to the bytes before it, even if these are defective. */
export function buildChain(
  length: number,
  changes: { [seq: number]: Change } = {},
  previous = { seq: 0, hash: zeros },
): Receipt[] {
  const chain: Receipt[] = [];
  let last = previous.hash;
  for (let seq = previous.seq + 1; seq <= previous.seq + length; seq++) {
    const change = changes[seq];
    const document = documentAt(seq, last);
    change?.document?.(document);
    const text = oracle(document) as string;
    const encoded = new TextEncoder().encode(change?.text?.(text) ?? text);
    const bytes = change?.bytes?.(encoded) ?? encoded;
    const prevHash = typeof document.prev_hash === "string" ? document.prev_hash : last;
    last = sha256(bytes);
    chain.push({ seq, prevHash, hash: last, bytes });
  }
  return chain;
}

/** Makes receipt `seq` a recovery that abandons another receipt. */
export function recovered(seq: number, abandonedSeq: number, abandonedHash: string): { [seq: number]: Change } {
  const document = (document: LooseDocument) => {
    const { count, head } = document.body;
    const note = "Restored from the backup of the night.";
    document.body = { type: "recovery", count, head, abandoned_seq: abandonedSeq, abandoned_hash: abandonedHash, note };
  };
  return { [seq]: { document } };
}

/** The exact bytes of a receipt in a vector file. */
export function bytesOf({ canonical, canonical_base64 }: VectorReceipt): Uint8Array {
  return canonical === undefined
    ? Buffer.from(canonical_base64 as string, "base64")
    : new TextEncoder().encode(canonical);
}
