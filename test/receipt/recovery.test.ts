import { describe, expect, it } from "vitest";
import type { ReceiptBody } from "../../src/receipt/document.ts";
import { abandonedBy, contradiction, rivalOf } from "../../src/receipt/recovery.ts";

const head = "a".repeat(64);
const hash = "b".repeat(64);
const recovery = (abandoned_seq: number): ReceiptBody => ({
  type: "recovery",
  count: 1,
  head,
  abandoned_seq,
  abandoned_hash: hash,
  note: "",
});
const others: ReceiptBody[] = [
  { type: "genesis", count: 0, head, note: "" },
  { type: "session", count: 1, head, note: "", session: "2026-01-05" },
  { type: "daily", count: 1, head, date: "2026-01-05", head_seq: 1, verify_ok: true },
];

describe("abandonedBy", () => {
  it("gives the seq and the hash that a recovery abandons", () => {
    expect(abandonedBy({ body: recovery(7) })).toEqual({ seq: 7, hash });
  });

  it.each(others)("gives nothing for a $type", (body) => {
    expect(abandonedBy({ body })).toBeUndefined();
    expect(rivalOf({ seq: 9, body })).toBeUndefined();
  });

  it("goes by the type, whatever other members a body of a later version has", () => {
    const body = { ...others[1], abandoned_seq: 3, abandoned_hash: hash } as ReceiptBody;
    expect(abandonedBy({ body })).toBeUndefined();
  });
});

describe("rivalOf", () => {
  it("gives an abandoned receipt whose seq comes before the receipt before the recovery", () => {
    expect(rivalOf({ seq: 9, body: recovery(1) })).toEqual({ seq: 1, hash });
    expect(rivalOf({ seq: 9, body: recovery(7) })).toEqual({ seq: 7, hash });
  });

  it("gives nothing for the receipt before, which verifyNext compares, nor for later ones, which are lost", () => {
    for (const seq of [8, 9, 10, 1_000]) expect(rivalOf({ seq: 9, body: recovery(seq) })).toBeUndefined();
  });
});

it("a contradiction names the recovery, the fault and the abandoned receipt", () => {
  expect(contradiction(9, { seq: 7, hash })).toEqual({
    seq: 9,
    fault: "wrong_recovery",
    message: `the recovery abandons receipt 7 of hash ${hash}, which is part of this chain`,
  });
});
