import type { ReceiptDocument } from "./document.ts";

/** A receipt by its place and its hash. */
export interface Head {
  seq: number;
  hash: string;
}

/** The newest receipt that a recovery abandons; undefined for receipts of other types. */
export function abandonedBy({ body }: Pick<ReceiptDocument, "body">): Head | undefined {
  return body.type === "recovery" ? { seq: body.abandoned_seq, hash: body.abandoned_hash } : undefined;
}

/**
 * The receipt before the last one that a recovery must be compared with: the one that has the place of the abandoned one in
 * this chain. Undefined where there is none, or where `verifyNext` has compared it already.
 */
export function rivalOf(document: Pick<ReceiptDocument, "seq" | "body">): Head | undefined {
  const abandoned = abandonedBy(document);
  return abandoned !== undefined && abandoned.seq < document.seq - 1 ? abandoned : undefined;
}

/** The finding of a recovery whose abandoned receipt is part of the chain: it abandons nothing. */
export function contradiction(seq: number, abandoned: Head) {
  const message = `the recovery abandons receipt ${abandoned.seq} of hash ${abandoned.hash}, which is part of this chain`;
  return { seq, fault: "wrong_recovery" as const, message };
}
