// What a finding says, besides its code: the seq of the receipt, what was found, and what was expected.
import { expect, it, vi } from "vitest";
import { type Fault, type UntrustedReceipt, verifyEnd, verifyNext } from "../../src/receipt/verify.ts";
import { buildChain, type Change, documentAt, type LooseDocument, otherHash, type Receipt } from "./chain.ts";

const [first, second, third] = buildChain(3) as [Receipt, Receipt, Receipt];
const previous = { seq: 2, hash: second.hash, ts: documentAt(2, first.hash).ts as string };
const untrusted = ({ bytes, hash }: Receipt): UntrustedReceipt => ({ bytes, computedHash: hash });
/** Receipt 3, changed before its hash is computed. */
const changed = (change: Change) => untrusted(buildChain(3, { 3: change })[2] as Receipt);
const withMembers = ({ body = {}, ...members }: LooseDocument) =>
  changed({
    document: (document) => Object.assign(document, members, { body: { ...document.body, ...body } }),
  });
const abandons = { type: "recovery", abandoned_seq: 9, abandoned_hash: second.hash, note: "" };

it.each<[Fault, string, UntrustedReceipt]>([
  ["gap", "receipt 4 comes where 3 is due", { ...untrusted(third), seq: 4 }],
  ["repeat", "receipt 2 comes where 3 is due", { ...untrusted(third), seq: 2 }],
  ["wrong_hash", `the bytes hash to ${third.hash}; recorded is ${otherHash}`, { ...untrusted(third), hash: otherHash }],
  ["wrong_hash", `the bytes hash to ${third.hash}; recorded is no hash`, { ...untrusted(third), hash: "x" }],
  ["not_utf8", "the bytes are not UTF-8", { bytes: Buffer.from([0xff]), computedHash: third.hash }],
  ["not_json", "the bytes are not JSON", { bytes: Buffer.from("{"), computedHash: third.hash }],
  ["not_canonical", "the bytes are not in canonical form", changed({ text: (text) => `${text} ` })],
  [
    "not_canonical",
    "the document has no canonical form: a string holds a lone surrogate",
    { bytes: Buffer.from('["\\ud800"]'), computedHash: third.hash },
  ],
  ["bad_document", "body.date is missing or malformed", withMembers({ body: { date: "today" } })],
  ["gap", "the document says seq 4, not 3", withMembers({ seq: 4 })],
  ["repeat", "the document says seq 2, not 3", withMembers({ seq: 2 })],
  [
    "wrong_prev_hash",
    `prev_hash is ${otherHash}; the receipt before hashes to ${second.hash}`,
    withMembers({ prev_hash: otherHash }),
  ],
  [
    "wrong_prev_hash",
    `recorded beside the document is prev_hash ${otherHash}, not the document's own`,
    { ...untrusted(third), prevHash: otherHash },
  ],
  ["wrong_count", "body.count is 7, not 2", withMembers({ body: { count: 7 } })],
  ["wrong_count", "body.head_seq is 7, not 2", withMembers({ body: { head_seq: 7 } })],
  ["wrong_head", `body.head is ${otherHash}, not prev_hash`, withMembers({ body: { head: otherHash } })],
  [
    "wrong_ts",
    `ts is 2025-12-31T00:00:00.000Z, older than ${previous.ts} of the receipt before`,
    withMembers({ ts: "2025-12-31T00:00:00.000Z" }),
  ],
  [
    "wrong_recovery",
    `the recovery abandons receipt 9 of hash ${second.hash}, which is part of this chain`,
    withMembers({ body: abandons }),
  ],
])("%s: %s", (fault, message, receipt) => {
  expect(verifyNext(previous, receipt)).toEqual({ ok: false, finding: { seq: 3, fault, message } });
});

it("a parser that gives up has found a document that is nested too deep", () => {
  // V8's parser does not recurse. The parsers of other engines throw something other than a SyntaxError.
  const parse = vi.spyOn(JSON, "parse").mockImplementation(() => {
    throw new RangeError("Maximum call stack size exceeded.");
  });
  const verdict = verifyNext(previous, untrusted(third));
  parse.mockRestore();
  const message = "the document is nested deeper than this engine reads";
  expect(verdict).toEqual({ ok: false, finding: { seq: 3, fault: "not_canonical", message } });
});

it("a receipt may have any time if that of the one before is unknown", () => {
  const older = withMembers({ ts: "2025-12-31T00:00:00.000Z" });
  expect(verifyNext({ seq: 2, hash: second.hash }, older).ok).toBe(true);
});

it("the end of a chain is compared with the head", () => {
  expect(verifyEnd(previous, { seq: 2, hash: second.hash })).toBeUndefined();
  expect(verifyEnd(previous, { seq: 3, hash: third.hash })).toEqual({
    seq: 3,
    fault: "truncated",
    message: "the chain ends at 2; its head is 3",
  });
  expect(verifyEnd(previous, { seq: 1, hash: first.hash })).toEqual({
    seq: 2,
    fault: "beyond_head",
    message: "there are receipts up to 2; the head is 1",
  });
  expect(verifyEnd(previous, { seq: 2, hash: otherHash })).toEqual({
    seq: 2,
    fault: "wrong_hash",
    message: `the head's hash is ${otherHash}; the receipt's is ${second.hash}`,
  });
});
