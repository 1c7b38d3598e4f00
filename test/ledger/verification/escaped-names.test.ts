// Names that are written with an escape in JSON, after the engine was misled about each (see src/receipt/parse.ts).
import type { JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LedgerOperatorService } from "../../../gen/stoa/v1/ledger_operator_service_pb.js";
import { parseJson } from "../../../src/receipt/parse.ts";
import { misleadEngine } from "../../receipt/misread-names.ts";
import { asOperator, ledgerClient, protocols, refusal, startLedger } from "../support.ts";

const service = await startLedger();

const own = { session: "2026-01-05", source: "feed:test" };

/** The stored evidence of the newest receipt. */
async function storedEvidence(): Promise<string> {
  const sql = "SELECT CAST(canonical AS CHAR) AS text FROM receipts ORDER BY seq DESC LIMIT 1";
  const text = (await service.db.rows<{ text: string }>(sql))[0]?.text as string;
  return text.slice(text.indexOf('"evidence":') + '"evidence":'.length, text.indexOf(',"kind":"seal","prev_hash"'));
}

const cases: JsonObject[] = [
  { a: 1, "x\\": 1 },
  { list: [{ b: { "\u0000y": "z" } }, { b: { '"': ["\\"] } }] },
  { '"__proto__': { "\t": { "\u001f": null } } },
];

it.each(cases)("%j in binary form is sealed and shown as it was sent", async (evidence) => {
  misleadEngine(evidence);
  const { seq, document, canonical } = await service.seal({ evidence });
  const sealed = { ...evidence, ...own };
  expect(await storedEvidence()).toBe(canonicalize(sealed));
  expect(document).toEqual(parseJson(canonical));
  expect(document?.evidence).toEqual(sealed);

  const rest = parseJson(await (await fetch(`${service.url}/api/v1/house/receipts/${seq}`)).text());
  expect(rest).toMatchObject({ receipt: { document: { evidence: sealed } } });
  for (const protocol of protocols) {
    const read = await ledgerClient(service, protocol).getReceipt({ seq });
    expect(read.receipt?.document?.evidence).toEqual(sealed);
  }
});

// Connect reads JSON for all three protocols.
describe("in JSON", () => {
  async function seal(evidence: JsonObject, book: string): Promise<void> {
    const transport = createConnectTransport({ baseUrl: service.url, useBinaryFormat: false, httpVersion: "1.1" });
    await createClient(LedgerOperatorService, transport).sealSession({ book, note: "", ...own, evidence }, asOperator);
  }

  it.each<[field: string, evidence: JsonObject]>([
    ["evidence.x\\", { "x\\": 1 }],
    ["evidence.list[1].\\y", { list: [1, { "\\y": 1 }] }],
  ])("a name with a backslash is refused at %s", async (field, evidence) => {
    const bad = { code: "InvalidArgument", error: "bad_input", field };
    await expect(refusal(seal(evidence, "refused"))).resolves.toEqual(bad);
  });

  it("only names that were sent are sealed", async () => {
    const name = fc.string({ unit: fc.constantFrom("x", "u", "0", '"', "\n", "\u0000"), maxLength: 4 });
    const evidences = fc.array(fc.tuple(name, fc.constantFrom<JsonObject[string]>(1, { '"': 1 })), { maxLength: 4 });
    let books = 0;
    await fc.assert(
      fc.asyncProperty(evidences, async (members) => {
        const evidence = Object.fromEntries(members);
        misleadEngine(evidence);
        books += 1;
        try {
          await seal(evidence, `names ${books}`);
        } catch (error) {
          const refused = await refusal(Promise.reject(error));
          expect(refused).toMatchObject({ code: "InvalidArgument", error: "bad_input" });
          expect(refused.field).toMatch(/^evidence\..*\\/s);
          return;
        }
        expect(await storedEvidence()).toBe(canonicalize({ ...evidence, ...own }));
      }),
      { numRuns: 25 },
    );
  });
});

it("the chain of all these receipts verifies", async () => {
  const { body } = await service.rest("/house/verify?from=0");
  expect(body).toMatchObject({ ok: true, verify_ok: true, broken_at: null });
});
