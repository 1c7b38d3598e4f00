import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { StoaError } from "../../../src/errors.ts";
import { sessionEvidence } from "../../../src/ledger/sealing/evidence.ts";
import { canonicalize, type Json } from "../../../src/receipt/canonical.ts";
import { waitUntil } from "../../support/wait.ts";
import { type LedgerUnderTest, startLedger, TestClock } from "../support.ts";

const run = promisify(execFile);

/** The output of a shell for exactly this command. */
async function shell(command: string): Promise<string> {
  return (await run("bash", ["--norc", "-c", command])).stdout;
}

/** Everything that is allowed and that two JSON writers might write differently. */
const awkward = {
  "": "an empty name",
  'name with "quotes", \\ and \u0001': 1,
  Z: 1,
  a: 2,
  _: 3,
  A: 4,
  numbers: [0, -0, 1, -1, 9_007_199_254_740_991, -9_007_199_254_740_991, 1e15, 100_000_000_000_000],
  controls: Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join(""),
  unicode: "ἀρετή 🏛 \u0080\u00a0\u2028\u2029\ufeff\ufffd\uffff\u{10ffff} e\u0301 é",
  shell: "'; rm -rf / #\" $(id) `id` \\n %s",
  empties: [{}, [], "", null, true, false],
  deep: { b: { b: { b: [[[{ z: 1, a: 1 }]]] } } },
};

describe("the verify commands", () => {
  let service: LedgerUnderTest;
  const clock = new TestClock("2026-03-01T12:00:00Z");
  beforeAll(async () => {
    service = await startLedger({ clock });
    const name = "Βιβλίο \"1\" 'x' \\";
    await service.seal({
      book: name,
      note: "ναί\n'",
      source: "feed:\t🏛",
      evidence: awkward,
      actorAgent: "ä",
      actorSeat: "'",
    });
    clock.set("2026-03-02T00:00:01Z");
    await waitUntil("the daily", async () => (await service.rest("house/receipts/3")).status === 200);
  });

  it.each([
    [1, "genesis"],
    [2, "session"],
    [3, "daily"],
  ])("give the promised output for receipt %i, a %s", async (seq, type) => {
    const { receipt, verify } = (await service.rest(`house/receipts/${seq}`)).body;
    expect(receipt.document.body.type).toBe(type);
    expect(await shell(verify.rebuild)).toBe(`${verify.expect}\n`);
    expect(await shell(verify.bytes)).toBe(`${verify.expect}\n`);
    expect(await shell(verify.prev)).toBe(`${receipt.prev_hash}\n`);
    expect(await shell(verify.chain)).toBe("true\n");
    expect(verify.expect).toBe(receipt.hash);
  });

  it("give another output after the receipt was changed", async () => {
    await service.db.rows("DROP TRIGGER receipts_are_not_updated");
    const { verify } = (await service.rest("house/receipts/2")).body;
    const next = (await service.rest("house/receipts/3")).body.verify;
    await service.db.rows("UPDATE receipts SET canonical = REPLACE(canonical, 'Z', 'Y') WHERE seq = 2");
    expect(await shell(verify.rebuild)).not.toBe(`${verify.expect}\n`);
    expect(await shell(verify.bytes)).not.toBe(`${verify.expect}\n`);
    expect(await shell(next.chain)).toBe("false\n");
    await service.db.rows("UPDATE receipts SET canonical = REPLACE(canonical, 'Y', 'Z') WHERE seq = 2");
  });
});

describe("evidence", () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom("\u007f", "é", "🏛", "\u2028", "\0", "\n"), fc.string()) });
  const number = fc.oneof(fc.maxSafeInteger(), fc.double(), fc.constantFrom(2 ** 53, -0, 1e21, 1e-7, 0.1));
  const anyJson = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "medium" }, text, number, fc.boolean(), fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("value"), { maxLength: 4 }),
    object: fc.dictionary(fc.oneof(fc.string(), text), tie("value"), { maxKeys: 5 }),
  }));
  const supplied = anyJson.object as fc.Arbitrary<{ [name: string]: Json }>;

  it("that is accepted has the same form by jq -cS and by RFC 8785, and most harmless evidence is accepted", () => {
    let accepted = 0;
    let offered = 0;
    fc.assert(
      fc.property(fc.array(supplied, { minLength: 40, maxLength: 60 }), (many) => {
        const good = many.flatMap((each) => {
          offered += 1;
          try {
            return [sessionEvidence("2026-01-05", "feed:test", each)];
          } catch (error) {
            if (error instanceof StoaError && error.code === "bad_input") return [];
            throw error;
          }
        });
        accepted += good.length;
        const input = good.map((each) => JSON.stringify(each)).join("\n");
        const rebuilt = execFileSync("jq", ["-cS", "."], { input, encoding: "utf8" });
        expect(rebuilt).toBe(good.map((each) => `${canonicalize(each)}\n`).join(""));
      }),
      { numRuns: 10 },
    );
    expect(accepted).toBeGreaterThan(offered / 20);
    expect(accepted).toBeLessThan(offered);
  });
});
