// Single requests to the ledger: for the end of the chain, and for one receipt.

import type { Json } from "../receipt/canonical.ts";
import { parseJson } from "../receipt/parse.ts";
import { chainStart, type Finding, type Link, verifyNext } from "../receipt/verify.ts";
import { StoaError } from "./error.ts";
import { getBytes, getObject } from "./http.ts";
import { toReceivedReceipt } from "./received-receipt.ts";
import { sha256 } from "./sha256.ts";

/** The end of the chain, as a service reports it. */
export interface Head {
  seq: number;
  /** Undefined if the service does not show the receipt. */
  hash: string | undefined;
}

export const receiptsPath = "/api/v1/house/receipts";

/** The newest receipt, as the service reports it; seq 0 for a chain without receipts. @throws StoaError */
export async function readHead(root: string, signal?: AbortSignal): Promise<Head> {
  const first = await readPlace(root, 1, signal);
  if (first.headSeq === 0) return { seq: 0, hash: undefined };
  // The head may have moved since. The hash must be that of the receipt that was the newest.
  const { found } = first.headSeq === 1 ? first : await readPlace(root, first.headSeq, signal);
  return { seq: first.headSeq, hash: found?.seq === first.headSeq ? found.hash : undefined };
}

/** The first receipt from `from` on, and the seq at which the chain ends, as the service reports them. @throws StoaError */
export async function readPlace(
  root: string,
  from: number,
  signal?: AbortSignal,
): Promise<{ found: { seq: number; hash: string } | undefined; headSeq: number }> {
  const page = await getObject(`${root}${receiptsPath}?from=${from}&limit=1`, signal).catch((error: unknown) => {
    if (isBeyondHead(error) && from === 1) return { receipts: [], head_seq: 0 };
    throw error;
  });
  const { receipts, head_seq: headSeq } = page;
  if (!Array.isArray(receipts) || !Number.isSafeInteger(headSeq) || (headSeq as number) < 0) {
    throw new StoaError("unusable", "the answer is not a page of receipts");
  }
  return { found: receipts.length === 0 ? undefined : toReceivedReceipt(receipts[0]), headSeq: headSeq as number };
}

/** Whether the service reports that the chain ends before the requested receipt. */
export function isBeyondHead(error: unknown): boolean {
  return error instanceof StoaError && error.code === "not_found" && error.field === "from";
}

/**
 * Reads one receipt by its canonical bytes, as the link before the next one. The hash is recomputed, and the document
 * is checked, except for its own link to the receipt before.
 * @returns the link, or what is wrong with it; undefined if the service has no such receipt
 * @throws StoaError
 */
export async function readLink(root: string, seq: number, signal?: AbortSignal): Promise<Link | Finding | undefined> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await getBytes(`${root}${receiptsPath}/${seq}/canonical`, signal);
  } catch (error) {
    if (error instanceof StoaError && error.code === "not_found") return undefined;
    throw error;
  }
  const previous = seq === 1 ? chainStart : { seq: seq - 1, hash: prevHashOf(bytes) };
  const verdict = verifyNext(previous, { bytes, computedHash: await sha256(bytes) });
  return verdict.ok ? verdict.link : verdict.finding;
}

/** The prev_hash of the document itself, so that the check compares it with itself; "" if it has none. */
function prevHashOf(bytes: Uint8Array): string {
  try {
    const { prev_hash: prevHash } = parseJson(new TextDecoder().decode(bytes)) as { prev_hash?: Json };
    return typeof prevHash === "string" ? prevHash : "";
  } catch {
    return "";
  }
}
