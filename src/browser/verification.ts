import { rootAddress } from "../client/http.ts";
import { readLink } from "../client/ledger.ts";
import { BeyondHead, DoesNotVerify, verifyReceipts } from "../client/verify-receipts.ts";

/** How far a verification goes from a receipt: not at all, back to the start, or on to the newest. */
export type Extent = "receipt" | "start" | "head";

/** The receipt that a page shows. It is not trusted. */
export interface Shown {
  seq: number;
  hash: string;
}

/** The verified part of the chain: the receipts from `from` to `to`. `hash` is the hash of receipt `to`. */
export interface Verified {
  from: number;
  to: number;
  hash: string;
}

/**
 * Verifies the receipt that is shown, and the chain as far as `extent` says. The client recomputes the hashes from the
 * canonical bytes that the service sends now, and checks every rule of the format.
 * @param url the root address of the service
 * @param onProgress called with the seq of the last good receipt
 * @throws DoesNotVerify; StoaError when the service cannot be read; the signal's reason when it aborts
 */
export async function verifyFrom(
  url: string,
  shown: Shown,
  extent: Extent,
  signal: AbortSignal,
  onProgress: (seq: number) => void,
): Promise<Verified> {
  const root = rootAddress(url);
  await checkShown(root, shown, signal);
  const from = extent === "start" ? 1 : shown.seq;
  let last: Verified = { from, to: from - 1, hash: "" };
  for await (const { link } of verifyReceipts({ url: root, from, known: shown, signal })) {
    last = { from, to: link.seq, hash: link.hash };
    onProgress(link.seq);
    if (extent !== "head" && link.seq === shown.seq) break;
  }
  return last;
}

/** Checks that the bytes for download have the hash that the page shows. @throws DoesNotVerify; StoaError */
async function checkShown(root: string, { seq, hash }: Shown, signal: AbortSignal): Promise<void> {
  const found = await readLink(root, seq, signal);
  if (found === undefined) throw new DoesNotVerify({ seq, fault: "gap", message: `receipt ${seq} is missing` });
  if ("fault" in found) throw new DoesNotVerify(found);
  if (found.hash === hash) return;
  const message = `the bytes hash to ${found.hash}; this page shows ${hash}`;
  throw new DoesNotVerify({ seq, fault: "wrong_hash", message });
}

export { BeyondHead, DoesNotVerify };
