import { buildChain, otherHash, toVector, type Vector, type VectorReceipt, zeros } from "../chain.ts";
import { edited, recovered, type Vectors, vector } from "./defect.ts";

export function notLinked(): Vectors {
  const relinked = (seq: number, description: string, hash: string) =>
    edited(seq, "wrong_prev_hash", description, { prev_hash: hash, body: { head: hash } });
  const clean = buildChain(6).map(toVector);
  const pick = (...seqs: number[]) => seqs.map((seq) => clean[seq - 1] as VectorReceipt);
  /** The same bytes, recorded with the seq of their position. */
  const renumbered = (receipts: VectorReceipt[]) => receipts.map((receipt, index) => ({ ...receipt, seq: index + 1 }));
  const alone = (receipts: VectorReceipt[]) => receipts.map(({ canonical }) => ({ canonical: canonical as string }));
  const previous = { seq: 4, hash: otherHash };
  const hashAt = (seq: number) => clean[seq - 1]?.hash as string;
  const recovery = (description: string, seq: number, abandoned: number) =>
    vector(
      seq,
      "wrong_recovery",
      description,
      buildChain(6, recovered(seq, abandoned, hashAt(abandoned))).map(toVector),
    );
  return {
    gap: vector(3, "gap", "Receipt 3 is left out.", pick(1, 2, 4, 5, 6)),
    "gap-at-start": vector(1, "gap", "Receipt 1 is left out.", pick(2, 3, 4)),
    "gap-renumbered": vector(
      3,
      "gap",
      "Receipt 3 is left out, and the later ones are renumbered.",
      renumbered(pick(1, 2, 4, 5, 6)),
    ),
    "gap-in-bytes-alone": vector(
      3,
      "gap",
      "Receipt 3 is left out; nothing is recorded beside the bytes.",
      alone(pick(1, 2, 4, 5)),
    ),
    repeat: vector(4, "repeat", "Receipt 3 comes twice.", pick(1, 2, 3, 3, 4, 5)),
    "repeat-renumbered": vector(4, "repeat", "Receipt 3 comes again as receipt 4.", renumbered(pick(1, 2, 3, 3, 4))),
    "repeat-of-genesis": vector(2, "repeat", "The genesis comes twice.", pick(1, 1, 2)),
    swapped: vector(3, "gap", "Receipts 3 and 4 change places.", pick(1, 2, 4, 3, 5)),
    "seq-of-document-differs": edited(4, "gap", "The document of receipt 4 says 7.", { seq: 7 }),
    "wrong-prev-hash": relinked(4, "A link to another chain.", otherHash),
    "wrong-prev-hash-zeros": relinked(4, "A link to nothing.", zeros),
    "wrong-prev-hash-skips-one": relinked(4, "A link to the receipt before the last.", clean[1]?.hash as string),
    "wrong-prev-hash-of-genesis": relinked(1, "The genesis links to something.", otherHash),
    "replaced-receipt": vector(4, "wrong_prev_hash", "Receipt 3 was rewritten; receipt 4 still links to what it was.", [
      ...pick(1, 2),
      edited(3, "", "", { body: { verify_ok: false } }).receipts[2] as VectorReceipt,
      ...pick(4, 5),
    ]),
    "other-chain-from-the-middle": vector(5, "wrong_prev_hash", "Receipt 4 is known by another hash.", pick(5, 6), {
      previous,
    }),
    "wrong-count": edited(4, "wrong_count", "body.count is 4 in receipt 4.", { body: { count: 4 } }),
    "wrong-count-of-genesis": edited(1, "wrong_count", "body.count is 1 in receipt 1.", { body: { count: 1 } }),
    "wrong-head-seq": edited(3, "wrong_count", "body.head_seq of a daily is its own seq.", { body: { head_seq: 3 } }),
    "wrong-head": edited(4, "wrong_head", "body.head is another hash than prev_hash.", { body: { head: otherHash } }),
    "wrong-ts": edited(4, "wrong_ts", "ts is a millisecond older than that of the receipt before.", {
      ts: "2026-01-02T00:00:04.122Z",
    }),
    "recovery-of-the-receipt-before": recovery("The receipt before is abandoned, and built on.", 4, 3),
    "recovery-of-the-receipt-before-by-another-seq": vector(
      4,
      "wrong_recovery",
      "The hash of the receipt before is abandoned, under another seq.",
      buildChain(6, recovered(4, 9, hashAt(3))).map(toVector),
    ),
    "recovery-of-an-older-receipt": recovery("A receipt of this chain is abandoned, and built on.", 5, 2),
    "recovery-of-the-genesis": recovery("The genesis is abandoned, and built on.", 4, 1),
    "several-faults": vector(2, "wrong_hash", "The first receipt that is broken counts, and there the first rule.", [
      ...pick(1),
      { ...pick(2)[0], canonical: "{", prev_hash: otherHash },
      ...pick(4),
    ]),
  };
}

export function notEnded(): Vectors {
  const clean = buildChain(5);
  const ended = (seq: number, fault: string, description: string, length: number, head: Vector["head"]) =>
    vector(seq, fault, description, clean.slice(0, length).map(toVector), {
      head: head as { seq: number; hash: string },
    });
  const hash = clean[4]?.hash as string;
  return {
    "truncated-chain": ended(4, "truncated", "The head is receipt 5; there are three.", 3, { seq: 5, hash }),
    "truncated-to-nothing": ended(1, "truncated", "The head is receipt 5; there is none.", 0, { seq: 5, hash }),
    "head-with-another-hash": ended(5, "wrong_hash", "The head is of another chain.", 5, { seq: 5, hash: otherHash }),
    "beyond-the-head": ended(4, "beyond_head", "The head is receipt 3; there are five.", 5, {
      seq: 3,
      hash: clean[2]?.hash as string,
    }),
  };
}
