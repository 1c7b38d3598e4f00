import { CanonicalError, canonicalize } from "../receipt/canonical.ts";
import type { ReceiptDocument } from "../receipt/document.ts";
import { abandonedBy, contradiction, rivalOf } from "../receipt/recovery.ts";
import { chainStart, type Fault, type Link, verifyEnd, verifyNext } from "../receipt/verify.ts";
import { StoaError } from "./error.ts";
import { rootAddress } from "./http.ts";
import { type Head, isBeyondHead, readHead, readLink, readPlace } from "./ledger.ts";
import { type ReadOptions, readReceipts } from "./read-receipts.ts";
import { type ReceivedReceipt, withComputedHash } from "./received-receipt.ts";

/** What a verifier of a service finds besides the faults of a chain. */
export type ServiceFault =
  | Fault
  /** The document that is shown beside the canonical bytes is another one. */
  | "wrong_document"
  /** A receipt that was seen before is another one now, or gone. */
  | "history_changed";

/** The chain does not verify; `seq` is the first receipt that does not. The message is for people, on one line. */
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

/** What is asked for lies further than one beyond the head. */
export class BeyondHead extends Error {
  override readonly name = "BeyondHead";
}

export interface VerifyOptions extends ReadOptions {
  /** Where the chain ends at least, as the service announced it; by default it is asked. */
  head?: Head | undefined;
  /** A receipt of an earlier verification: it must still be the same. */
  known?: { seq: number; hash: string } | undefined;
  /** Told of the link that the first receipt must follow, once all that can be checked before is checked. */
  onStart?: ((link: Link) => void) | undefined;
}

/** A receipt that verifies, and so do all before it since `from`. */
export interface VerifiedReceipt {
  link: Link;
  document: ReceiptDocument;
}

/**
 * Verifies the chain of a service, which is not trusted, while reading it: recomputes every hash, checks every rule of
 * src/receipt/FORMAT.md, what is shown beside the bytes, the receipt that is `known`, and that the announced head is
 * reached and is the same. From above 1, the receipt before is hashed too. With `follow` it goes on for ever.
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
      for await (const claim of readReceipts({ ...options, from: link.seq + 1 })) {
        const verified = await verifyReceived(link, claim);
        await checkRecovery(root, verified, signal);
        link = verified.link;
        checkKnown(link, known);
        checkHead(link, head);
        yield verified;
      }
    } catch (error) {
      throw await explain(error, root, link, signal);
    }
    // What ends cleanly before the head may have been cut by a proxy: only a stream without receipts is taken for the end.
    if (link.seq >= head.seq) return;
    if (link.seq === begun) throw endsEarly(link, head.seq);
  }
}

async function verifyReceived(previous: Link, claim: ReceivedReceipt): Promise<VerifiedReceipt> {
  const due = previous.seq + 1;
  const verdict = verifyNext(previous, await withComputedHash(claim));
  if (!verdict.ok) throw new DoesNotVerify(verdict.finding);
  // Encoding replaces lone surrogates, so that the bytes could be good, but are not those of this string.
  if (!claim.canonical.isWellFormed()) {
    throw new DoesNotVerify({ seq: due, fault: "not_utf8", message: "canonical holds a lone surrogate" });
  }
  if (!isSame(claim)) {
    const message = "the document shown beside is not the one that the canonical bytes hold";
    throw new DoesNotVerify({ seq: due, fault: "wrong_document", message });
  }
  return { link: verdict.link, document: verdict.document };
}

/** A recovery may abandon no receipt that the service still shows. @throws DoesNotVerify */
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

/** History has changed: names the recovery by which the operator explains it, where there is one. */
async function withRecovery(
  error: DoesNotVerify,
  known: { seq: number; hash: string },
  { url, signal }: VerifyOptions,
) {
  try {
    for await (const { link, document } of verifyEach({ url, signal })) {
      const abandoned = abandonedBy(document);
      if (abandoned === undefined) continue;
      if (abandoned.seq < known.seq || (abandoned.seq === known.seq && abandoned.hash !== known.hash)) continue;
      const { seq, fault, message } = error;
      const words = `receipt ${link.seq} is a recovery, by which the operator abandons receipt ${abandoned.seq}`;
      return new DoesNotVerify({ seq, fault, message: `${message}; ${words}` });
    }
  } catch {
    // What else is wrong is not what was asked for.
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
 * A service that misses a receipt cannot stream it, and fails with an error of its own. So whatever it refuses with, the
 * place is looked at: a receipt that is not there where the service says that the chain goes on is a finding.
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
