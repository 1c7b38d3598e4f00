import { hash } from "node:crypto";
import { canonicalize, type Json } from "../../receipt/canonical.ts";
import type { ReceiptBody, ReceiptDocument } from "../../receipt/document.ts";
import type { Tx } from "../../store/database/queryable.ts";
import { type Head, insertReceipt, type ReceiptRow } from "../../store/tables/receipts.ts";
import type { ServedHead } from "../head-guard/head-folder.ts";
import { SealingBlocked } from "./seal-checks.ts";

/** One sealing in progress: the receipt and all that goes with it commit together or not at all. */
export interface Sealing {
  tx: Tx;
  /** The time, in milliseconds since 1970 (UTC). */
  now: number;
  /** The date that is city_day 1. */
  epoch: string;
  /** Why nothing may be sealed, as `SealChecks` said when this began: `append` refuses then. */
  hold: string | undefined;
  /** Decides whether the chain may be continued. */
  guard?: { admit(tx: Tx, head: Head): Promise<readonly string[]> } | undefined;
  /** The newest receipt that was appended, for the guard to keep once it is committed. */
  appended?: ServedHead;
}

/** What a caller decides of a receipt; the rest follows from the head, the clock and the epoch. */
export interface Seal {
  book: string | null;
  actor: { agent: string; seat: string };
  evidence: { [name: string]: Json };
  /** Makes the body from what every body holds. */
  body(relation: { count: number; head: string }): ReceiptBody;
}

/** Where a receipt's reader has the chain verified; a path without a host, so that it outlives the address. */
export const verificationPath = "/house/verify?from=0";

/** What the service seals by itself. */
export const clerk = { agent: "stoa", seat: "clerk" };

export const dayMs = 86_400_000;

/** SHA-256 in lower-case hexadecimal. */
export function sha256(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}

/** The UTC date of a time in milliseconds since 1970, as YYYY-MM-DD. */
export function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The start of a UTC date, in milliseconds since 1970. */
export function startOf(date: string): number {
  return Date.parse(`${date}T00:00:00.000Z`);
}

/**
 * Appends a receipt to the head, which this transaction must have locked. Its time is `now`, or the head's where the clock
 * has jumped back: no receipt is older than the one before it.
 * @throws SealingBlocked while nothing may be sealed; ServedHeadMissing when the guard does not know this head
 */
export async function append(sealing: Sealing, head: Head, seal: Seal): Promise<ReceiptRow> {
  const { tx, now, epoch, hold, guard, appended } = sealing;
  if (hold !== undefined) throw new SealingBlocked(hold);
  const recoveries = appended?.recoveries ?? (await guard?.admit(tx, head)) ?? [];
  const ts = Math.max(now, head.ts);
  const seq = head.seq + 1;
  const document: ReceiptDocument = {
    v: 1,
    seq,
    kind: "seal",
    ts: new Date(ts).toISOString(),
    city_day: cityDay(ts, epoch),
    book: seal.book,
    actor: seal.actor,
    prev_hash: head.hash,
    refs: [],
    evidence: seal.evidence,
    body: seal.body({ count: head.seq, head: head.hash }),
  };
  const canonical = Buffer.from(canonicalize(document as unknown as Json));
  const receipt = { seq, hash: sha256(canonical), prev_hash: head.hash, canonical };
  await insertReceipt(tx, receipt, ts);
  const own = document.body.type === "recovery" ? [receipt.hash] : [];
  sealing.appended = { seq, hash: receipt.hash, recoveries: [...recoveries, ...own] };
  return receipt;
}

/** Whole days since the epoch, which is day 1. */
export function cityDay(ts: number, epoch: string): number {
  return Math.floor((startOf(dateOf(ts)) - startOf(epoch)) / dayMs) + 1;
}
