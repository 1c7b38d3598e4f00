import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CanonicalScanner } from "../../../src/receipt/fast-path/canonical-scanner.ts";
import { scanSession } from "../../../src/receipt/fast-path/session.ts";
import { verifyNext } from "../../../src/receipt/verify.ts";
import { byteChanges } from "../byte-changes.ts";
import { buildChain, type Change, type LooseDocument, type Receipt, sha256 } from "../chain.ts";

/** A chain in which the even receipts are sessions. */
const chain = buildChain(6);
const previous = chain[2] as Receipt;
const session = chain[3] as Receipt;

/**
 * Scans one receipt after `previous`, and checks that a receipt that was read is good.
 * @returns whether it was read, and whether it is good
 */
function compare(bytes: Uint8Array, after: { seq: number; hash: string } = previous): { read: boolean; good: boolean } {
  const ts = scanSession(new CanonicalScanner(bytes), after);
  const computedHash = sha256(bytes);
  const verdict = verifyNext(after, { bytes, computedHash });
  if (ts !== undefined && !(verdict.ok && verdict.link.ts === ts)) {
    throw new Error(`read, and not good: ${Buffer.from(bytes)}`);
  }
  return { read: ts !== undefined, good: verdict.ok };
}

function changed(change: Change): Uint8Array {
  return (buildChain(1, { 4: change }, previous)[0] as Receipt).bytes;
}
const withDocument = (document: (document: LooseDocument) => void) => changed({ document });
const both = { read: true, good: true };
const neither = { read: false, good: false };

describe("scanSession", () => {
  it("reads sessions, but no genesis and no dailies, which verifyNext checks", () => {
    const read = chain.map((receipt, index) =>
      compare(receipt.bytes, chain[index - 1] ?? { seq: 0, hash: "0".repeat(64) }),
    );
    expect(read.map(({ good }) => good)).toEqual([true, true, true, true, true, true]);
    expect(read.map(({ read }) => read)).toEqual([false, true, false, true, false, true]);
  });

  it("reads no receipt with a defect: each byte is changed in many ways", () => {
    const { bytes } = session;
    let read = 0;
    for (let at = 0; at < bytes.length; at++) {
      const other = bytes.slice();
      for (const step of byteChanges) {
        other[at] = (bytes[at] as number) ^ step;
        read += Number(compare(other).read);
      }
    }
    expect(read).toBeGreaterThan(4 * byteChanges.length);
  });

  it("reads no receipt with a defect: bytes are removed, added or moved", () => {
    const { bytes } = session;
    const place = fc.nat({ max: bytes.length });
    const piece = fc.oneof(
      fc.constantFrom(...[",", '"', ":", "0", "-", "{}", "[]", ',"x":1', '"a":1,', "\\", " ", "null", "\u00e9"]),
      fc
        .tuple(place, place)
        .map(([from, length]) => Buffer.from(bytes.subarray(from, from + (length % 40))).toString()),
    );
    fc.assert(
      fc.property(place, fc.nat({ max: 20 }), piece, (at, drop, piece) => {
        compare(Buffer.concat([bytes.subarray(0, at), Buffer.from(piece), bytes.subarray(at + drop)]));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each<[string, (document: LooseDocument) => void, { read: boolean; good: boolean }]>([
    ["no book", (it) => Object.assign(it, { book: null }), both],
    ["another book", (it) => Object.assign(it, { book: "rye" }), both],
    ["a book that is a number", (it) => Object.assign(it, { book: 7 }), neither],
    ["a book that is false", (it) => Object.assign(it, { book: false }), neither],
    ["no evidence", (it) => Object.assign(it, { evidence: {} }), both],
    [
      "evidence of many kinds",
      (it) => Object.assign(it, { evidence: { a: [null, true, false, -1, {}, []], b: { c: "d" } } }),
      both,
    ],
    ["evidence with a fraction", (it) => Object.assign(it, { evidence: { a: 0.5 } }), { read: false, good: true }],
    ["evidence with an escape", (it) => Object.assign(it, { evidence: { a: "\n" } }), { read: false, good: true }],
    ["evidence that is an array", (it) => Object.assign(it, { evidence: [] }), neither],
    ["evidence that is a string", (it) => Object.assign(it, { evidence: "{}" }), neither],
    ["a note that is empty", (it) => Object.assign(it.body, { note: "" }), both],
    ["a note in other letters", (it) => Object.assign(it.body, { note: "\u00e9\u4e16\u{1f600}\u2028" }), both],
    ["a note that is null", (it) => Object.assign(it.body, { note: null }), neither],
    ["another actor", (it) => Object.assign(it, { actor: { agent: "", seat: "\u00e9" } }), both],
    ["more of an actor", (it) => Object.assign(it.actor, { rank: 1 }), { read: false, good: true }],
    ["no seat", (it) => Object.assign(it, { actor: { agent: "a" } }), neither],
    ["a ref", (it) => Object.assign(it, { refs: [1] }), { read: false, good: true }],
    ["another kind", (it) => Object.assign(it, { kind: "note" }), { read: false, good: true }],
    ["another version", (it) => Object.assign(it, { v: 2 }), neither],
    ["a member more", (it) => Object.assign(it, { w: 1 }), { read: false, good: true }],
    ["the first city day", (it) => Object.assign(it, { city_day: 0 }), both],
    ["a negative city day", (it) => Object.assign(it, { city_day: -1 }), neither],
    ["another count", (it) => Object.assign(it.body, { count: 4 }), neither],
    ["another seq", (it) => Object.assign(it, { seq: 5 }), neither],
    ["another head", (it) => Object.assign(it.body, { head: "0".repeat(64) }), neither],
    ["another prev_hash", (it) => Object.assign(it, { prev_hash: "0".repeat(64) }), neither],
    ["no session", (it) => Object.assign(it.body, { session: "" }), neither],
    ["a session that is a year", (it) => Object.assign(it.body, { session: "2026" }), neither],
    ["a session that is a month", (it) => Object.assign(it.body, { session: "2026-01" }), neither],
    ["a session that is no month", (it) => Object.assign(it.body, { session: "2026-13" }), neither],
    ["another type", (it) => Object.assign(it.body, { type: "sessions" }), { read: false, good: true }],
    ["a genesis", (it) => Object.assign(it.body, { type: "genesis" }), neither],
  ])("%s", (_, change, expected) => {
    expect(compare(withDocument(change))).toEqual(expected);
  });

  it("does not read a session as receipt 1", () => {
    const start = { seq: 0, hash: "0".repeat(64) };
    const [first] = buildChain(1, {
      1: { document: (it) => Object.assign(it.body, { type: "session", session: "2026-01-01" }) },
    });
    expect(compare((first as Receipt).bytes, start)).toEqual(neither);
    const written = Buffer.from(session.bytes)
      .toString()
      .replace('"seq":4', '"seq":1')
      .replace('"count":3', '"count":0');
    expect(compare(Buffer.from(written.replaceAll(previous.hash, start.hash)), start)).toEqual(neither);
  });

  it("checks dates and times", () => {
    const two = (value: number) => String(value).padStart(2, "0");
    let read = 0;
    for (const year of ["0000", "1900", "2000", "2023", "2024", "12a4"]) {
      for (let month = 0; month <= 13; month++) {
        for (const day of [0, 1, 28, 29, 30, 31, 32]) {
          const date = `${year}-${two(month)}-${two(day)}`;
          const asSession = compare(withDocument((it) => Object.assign(it.body, { session: date })));
          const asTime = compare(withDocument((it) => Object.assign(it, { ts: `${date}T00:00:00.000Z` })));
          expect([asSession.read, asTime.read], date).toEqual([asSession.good, asTime.good]);
          read += Number(asTime.read);
        }
      }
    }
    // Of these days, 53 exist in each of the four years, and one more in leap years.
    expect(read).toBe(4 * 53 + 2);
    for (const time of [
      "23:59:59.999",
      "24:00:00.000",
      "12:60:00.000",
      "12:00:60.000",
      "12:00:00.00",
      "12:00:00,000",
    ]) {
      const { read, good } = compare(withDocument((it) => Object.assign(it, { ts: `2026-01-02T${time}Z` })));
      expect([read, good], time).toEqual(Array(2).fill(time === "23:59:59.999"));
    }
  });

  it("does not read a note that is not UTF-8", () => {
    const bytes = (replacement: number[]) =>
      changed({
        bytes: (bytes) => {
          const at = Buffer.from(bytes).indexOf("The market");
          return Buffer.concat([bytes.subarray(0, at), Buffer.from(replacement), bytes.subarray(at + 3)]);
        },
      });
    expect(compare(bytes([0xe2, 0x82, 0xac]))).toEqual(both);
    expect(compare(bytes([0xe2, 0x82]))).toEqual(neither);
    expect(compare(bytes([0xed, 0xa0, 0x80]))).toEqual(neither);
  });

  it("reads a receipt from a buffer with other receipts around it", () => {
    const bytes = Buffer.concat(chain.map((receipt) => receipt.bytes));
    const begin = bytes.indexOf(session.bytes);
    const reader = new CanonicalScanner(bytes);
    reader.moveTo(begin, begin + session.bytes.length);
    expect(scanSession(reader, previous)).toBe(JSON.parse(Buffer.from(session.bytes).toString()).ts);
    for (const [from, to] of [
      [0, 1],
      [0, -1],
      [1, 0],
      [-1, 0],
    ] as const) {
      reader.moveTo(begin + from, begin + session.bytes.length + to);
      expect(scanSession(reader, previous)).toBeUndefined();
    }
  });
});
