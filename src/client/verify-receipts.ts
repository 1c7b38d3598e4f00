import { CanonicalError, canonicalize } from "../receipt/canonical.ts";
import type { ReceiptDocument } from "../receipt/document.ts";
import { abandonedBy, contradiction, rivalOf } from "../receipt/recovery.ts";
import { chainStart, type Fault, type Link, verifyEnd, verifyNext } from "../receipt/verify.ts";
import { StoaError } from "./error.ts";
import { rootAddress } from "./http.ts";
import { type Head, isBeyondHead, readHead, readLink, readPlace } from "./ledger.ts";
import { type ReadOptions, readReceipts } from "./read-receipts.ts";
import { type ReceivedReceipt, withComputedHash } from "./received-receipt.ts";

/** The faults of a chain, and those that only a service can have. */
export type ServiceFault =
  | Fault
  /** The document beside the canonical bytes is a different one. */
  | "wrong_document"
  /** A receipt that was seen before has changed or is gone. */
  | "history_changed";

/** The chain does not verify. `seq` is the first receipt that does not. The message is one line for people. */
export class DoesNotVerify extends Error {
  override readonly name = "DoesNotVerify";
  readonly seq: number;
  readonly fault: ServiceFault;

  constructor({ seq, fault, message }: { seq: number; fault: ServiceFault; message: string }) {
    super(message);
    this.seq = seq;
    this.fault = fault;
  }
}

/** The requested receipt is more than one beyond the head. */
export class BeyondHead extends Error {
  override readonly name = "BeyondHead";
}

export interface VerifyOptions extends ReadOptions {
  /** The head that the chain must reach, as the service reported it. By default the service is asked. */
  head?: Head | undefined;
  /** A receipt of an earlier verification. It must not have changed. */
  known?: { seq: number; hash: string } | undefined;
  /** Called with the link before the first receipt, when everything that can be checked before is checked. */
  onStart?: ((link: Link) => void) | undefined;
}

/** A receipt that verifies. All receipts before it, from `from` on, verify too. */
export interface VerifiedReceipt {
  link: Link;
  document: ReceiptDocument;
}

/**
 * Verifies the chain of a service while reading it. The service is not trusted. This recomputes every hash, checks
 * every rule of src/receipt/FORMAT.md, the documents beside the bytes, the receipt `known`, and that the chain reaches
 * the reported head with the same hash. If `from` is above 1, the receipt before is hashed too. With `follow` it never
 * ends by itself.
 * @throws DoesNotVerify; StoaError when the service could not be read, which says nothing of the chain; BeyondHead when
 * `from` is further than one beyond the head; the signal's reason when it aborts
 */
export async function* verifyReceipts(options: VerifyOptions): AsyncGenerator<VerifiedReceipt, void> {
  try {
    yield* verifyEach(options);
  } catch (error) {
    const { known } = options;
    if (known === undefined || !(error instanceof DoesNotVerify) || error.fault !== "history_changed") throw error;
    throw await withRecovery(error, known, options);
  }
}

async function* verifyEach(options: VerifyOptions): AsyncGenerator<VerifiedReceipt, void> {
  const { from = 1, known, signal } = options;
  const root = rootAddress(options.url);
  const head = options.head ?? (await readHead(root, signal));
  if (known !== undefined && known.seq > head.seq) throw goneSince(known, head.seq);
  if (from > head.seq + 1) throw new BeyondHead(`the chain ends at receipt ${head.seq}`);

  let link = from <= 1 ? chainStart : await fetchLink(root, from - 1, signal);
  if (known !== undefined && known.seq < from) {
    checkKnown(known.seq === link.seq ? link : await fetchLink(root, known.seq, signal), known);
  }
  checkHead(link, head);
  options.onStart?.(link);
  for (;;) {
    const begun = link.seq;
    try {
      for await (const receipt of readReceipts({ ...options, from: link.seq + 1 })) {
        const verified = await verifyReceived(link, receipt);
        await checkRecovery(root, verified, signal);
        link = verified.link;
        checkKnown(link, known);
        checkHead(link, head);
        yield verified;
      }
    } catch (error) {
      throw await explain(error, root, link, signal);
    }
    // A proxy may have cut a stream that ends cleanly before the head. So only a stream without receipts counts as the end.
    if (link.seq >= head.seq) return;
    if (link.seq === begun) throw endsEarly(link, head.seq);
  }
}

async function verifyReceived(previous: Link, receipt: ReceivedReceipt): Promise<VerifiedReceipt> {
  const due = previous.seq + 1;
  const verdict = verifyNext(previous, await withComputedHash(receipt));
  if (!verdict.ok) throw new DoesNotVerify(verdict.finding);
  // Encoding replaces lone surrogates: the bytes may be good, but they are not those of this string.
  if (!receipt.canonical.isWellFormed()) {
    throw new DoesNotVerify({ seq: due, fault: "not_utf8", message: "canonical holds a lone surrogate" });
  }
  if (!isSame(receipt)) {
    const message = "the document shown beside is not the one that the canonical bytes hold";
    throw new DoesNotVerify({ seq: due, fault: "wrong_document", message });
  }
  return { link: verdict.link, document: verdict.document };
}

/** Checks that the service no longer shows the receipt that a recovery abandons. @throws DoesNotVerify */
async function checkRecovery(root: string, { link, document }: VerifiedReceipt, signal: AbortSignal | undefined) {
  const rival = rivalOf(document);
  if (rival === undefined) return;
  const shown = await readLink(root, rival.seq, signal);
  if (shown !== undefined && "hash" in shown && shown.hash === rival.hash) {
    throw new DoesNotVerify(contradiction(link.seq, rival));
  }
}

/** Two JSON values are equal when their canonical texts are. */
function isSame({ document, canonical }: ReceivedReceipt): boolean {
  if (document === undefined) return false;
  try {
    return canonicalize(document) === canonical;
  } catch (error) {
    if (error instanceof CanonicalError) return false;
    throw error;
  }
}

function checkKnown(link: Link, known: { seq: number; hash: string } | undefined): void {
  if (known === undefined || link.seq !== known.seq || link.hash === known.hash) return;
  const message = `receipt ${known.seq} was ${known.hash}, is now ${link.hash}`;
  throw new DoesNotVerify({ seq: known.seq, fault: "history_changed", message });
}

function goneSince(known: { seq: number; hash: string }, last: number): DoesNotVerify {
  const message = `receipt ${known.seq} was ${known.hash}, is now gone: the chain ends at ${last}`;
  return new DoesNotVerify({ seq: known.seq, fault: "history_changed", message });
}

/**
 * History has changed. If a recovery abandons exactly the known receipt, the returned finding names it. A recovery that
 * abandons a newer receipt does not say which receipts were lost below it, so it explains nothing.
 * @throws the signal's reason
 */
async function withRecovery(
  error: DoesNotVerify,
  known: { seq: number; hash: string },
  { url, signal }: VerifyOptions,
) {
  try {
    for await (const { link, document } of verifyEach({ url, signal })) {
      const abandoned = abandonedBy(document);
      if (abandoned?.seq !== known.seq || abandoned.hash !== known.hash) continue;
      const { seq, fault, message } = error;
      const words = `receipt ${link.seq} is a recovery, by which the operator abandons receipt ${abandoned.seq}`;
      return new DoesNotVerify({ seq, fault, message: `${message}; ${words}` });
    }
  } catch {
    // Whether the rest of the chain verifies does not matter here.
    signal?.throwIfAborted();
  }
  return error;
}

function checkHead(link: Link, { seq, hash }: Head): void {
  if (link.seq !== seq || hash === undefined) return;
  const finding = verifyEnd(link, { seq, hash });
  if (finding !== undefined) throw new DoesNotVerify(finding);
}

function endsEarly(last: Link, headSeq: number): DoesNotVerify {
  const message = `the chain ends at ${last.seq}; its head is ${headSeq}`;
  return new DoesNotVerify({ seq: last.seq + 1, fault: "truncated", message });
}

async function fetchLink(root: string, seq: number, signal: AbortSignal | undefined): Promise<Link> {
  const found = await readLink(root, seq, signal);
  if (found === undefined) throw new DoesNotVerify({ seq, fault: "gap", message: `receipt ${seq} is missing` });
  if ("fault" in found) throw new DoesNotVerify(found);
  return found;
}

/**
 * A service that has lost a receipt cannot stream it, and fails with some error. So after any refusal this requests the
 * receipt itself. If it is missing although the service reports a longer chain, that is a finding.
 */
async function explain(error: unknown, root: string, last: Link, signal: AbortSignal | undefined): Promise<unknown> {
  if (!(error instanceof StoaError) || (error.kind !== "refused" && error.code !== "unavailable")) return error;
  const due = last.seq + 1;
  if (isBeyondHead(error)) {
    const message = `the service says that the chain ends before ${last.seq}, which it has shown`;
    return new DoesNotVerify({ seq: last.seq, fault: "truncated", message });
  }
  const { found, headSeq } = await readPlace(root, due, signal).catch(() => ({ found: undefined, headSeq: 0 }));
  if (headSeq < due || found?.seq === due) return error;
  const message = `receipt ${due} is missing, and the chain's head is ${headSeq}`;
  return new DoesNotVerify({ seq: due, fault: found === undefined ? "truncated" : "gap", message });
}
