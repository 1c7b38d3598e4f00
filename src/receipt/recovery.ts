import type { ReceiptDocument } from "./document.ts";

/** A receipt by its seq and its hash. */
export interface Head {
  seq: number;
  hash: string;
}

/** The newest receipt that a recovery abandons; undefined for receipts of other types. */
export function abandonedBy({ body }: Pick<ReceiptDocument, "body">): Head | undefined {
  return body.type === "recovery" ? { seq: body.abandoned_seq, hash: body.abandoned_hash } : undefined;
}

/**
 * The receipt that must not be in the chain of a recovery: the one that it abandons. Undefined if the document is no
 * recovery, or if `verifyNext` has already compared it, because it would be the receipt before.
 */
export function rivalOf(document: Pick<ReceiptDocument, "seq" | "body">): Head | undefined {
  const abandoned = abandonedBy(document);
  return abandoned !== undefined && abandoned.seq < document.seq - 1 ? abandoned : undefined;
}

/** The finding for a recovery whose abandoned receipt is part of the chain. */
export function contradiction(seq: number, abandoned: Head) {
  const message = `the recovery abandons receipt ${abandoned.seq} of hash ${abandoned.hash}, which is part of this chain`;
  return { seq, fault: "wrong_recovery" as const, message };
}
