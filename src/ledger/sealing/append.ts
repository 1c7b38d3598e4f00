import { StoredDamage } from "../../errors.ts";
import { canonicalize, type Json } from "../../receipt/canonical.ts";
import { type ReceiptBody, type ReceiptDocument, zeroHash } from "../../receipt/document.ts";
import type { Tx } from "../../store/database/queryable.ts";
import { findReceipt, type Head, insertReceipt, type ReceiptRow } from "../../store/tables/receipts.ts";
import { traced } from "../../tracing/tracing.ts";
import { cityDay } from "../calendar.ts";
import type { ServedHead } from "../head-guard/head-folder.ts";
import { sha256 } from "../sha256.ts";
import { SealingBlocked } from "./seal-checks.ts";

/** A transaction that may append receipts. It commits the receipts and all other changes together, or none of them. */
export interface Sealing {
  tx: Tx;
  /** The time, in milliseconds since 1970 (UTC). */
  now: number;
  /** The date that is city_day 1. */
  epoch: string;
  /** Why nothing may be sealed, as `SealChecks` reported before the transaction began. `append` then refuses. */
  blockReason: string | undefined;
  /** Decides whether a receipt may follow the head; see `HeadGuard.checkHead`. */
  guard?: { checkHead(tx: Tx, head: Head): Promise<readonly string[]> } | undefined;
  /** The newest receipt that this transaction appended. The guard stores it after the commit. */
  appended?: ServedHead;
}

/** The content of a receipt that the caller chooses. The rest follows from the head, the clock and the epoch. */
interface ReceiptContent {
  book: string | null;
  actor: { agent: string; seat: string };
  evidence: { [name: string]: Json };
  /** Makes the body from the members that every body has. */
  body(common: { count: number; head: string }): ReceiptBody;
}

/** Where a reader of a receipt can have the chain verified. The path has no host, so that it outlives the address. */
export const verificationPath = "/house/verify?from=0";

/** The actor of the receipts that the service seals by itself. */
export const clerk = { agent: "stoa", seat: "clerk" };

/**
 * Appends a receipt after the head, which this transaction must have locked. The time of the receipt is `now`, or the
 * time of the head if the clock was set back: no receipt is older than the one before it.
 * @throws SealingBlocked while nothing may be sealed; ServedHeadMissing when the chain lacks a head that was served;
 * StoredDamage when the head does not belong to its receipt
 */
export function append(sealing: Sealing, head: Head, content: ReceiptContent): Promise<ReceiptRow> {
  return traced("seal a receipt", () => appendAfter(sealing, head, content));
}

async function appendAfter(sealing: Sealing, head: Head, content: ReceiptContent): Promise<ReceiptRow> {
  const { tx, now, epoch, blockReason, guard, appended } = sealing;
  if (blockReason !== undefined) throw new SealingBlocked(blockReason);
  await checkHead(tx, head);
  const recoveries = appended?.recoveries ?? (await guard?.checkHead(tx, head)) ?? [];
  const ts = Math.max(now, head.ts);
  const seq = head.seq + 1;
  const document: ReceiptDocument = {
    v: 1,
    seq,
    kind: "seal",
    ts: new Date(ts).toISOString(),
    city_day: cityDay(ts, epoch),
    book: content.book,
    actor: content.actor,
    prev_hash: head.hash,
    refs: [],
    evidence: content.evidence,
    body: content.body({ count: head.seq, head: head.hash }),
  };
  const canonical = Buffer.from(canonicalize(document as unknown as Json));
  const receipt = { seq, hash: sha256(canonical), prev_hash: head.hash, canonical };
  await insertReceipt(tx, receipt, ts);
  const own = document.body.type === "recovery" ? [receipt.hash] : [];
  sealing.appended = { seq, hash: receipt.hash, recoveries: [...recoveries, ...own] };
  return receipt;
}

/**
 * Refuses to seal after a head that does not belong to its receipt: that would fork the chain. A damaged receipt does not
 * stop sealing; the next daily receipt says that the chain does not verify.
 * @throws StoredDamage
 */
async function checkHead(tx: Tx, { seq, hash }: Head): Promise<void> {
  if (seq === 0 && hash === zeroHash) return;
  const receipt = await findReceipt(tx, seq);
  const isOther = receipt !== undefined && receipt.hash !== hash && sha256(receipt.canonical) === receipt.hash;
  if (receipt !== undefined && !isOther) return;
  throw new StoredDamage(
    `The head of the ledger names receipt ${seq}, which is missing or has another hash; run stoa fsck.`,
  );
}
