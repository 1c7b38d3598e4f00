import { expect, it } from "vitest";
import type { Json } from "../../src/receipt/canonical.ts";
import { parseJson } from "../../src/receipt/parse.ts";
import { verifyNext } from "../../src/receipt/verify.ts";
import { buildChain, type Receipt } from "./chain.ts";

it("parseJson reads 20,000 levels, 50,000 members and 50,000 elements", () => {
  const levels = 20_000;
  for (const [open, close] of [
    ['{"\\n":', "}"],
    ['[{"a":1,"\\"":', "}]"],
  ] as const) {
    let value: Json = parseJson(`${open.repeat(levels)}7${close.repeat(levels)}`);
    for (let level = 0; level < levels; level++) {
      value = (Array.isArray(value) ? value[0] : value) as { [name: string]: Json };
      value = (value["\n"] ?? value['"']) as Json;
    }
    expect(value).toBe(7);
  }
  const many = Array.from({ length: 50_000 }, (_, index) => index);
  const elements = `[${many.map((index) => `{"\\n":${index}}`)}]`;
  expect(JSON.stringify(parseJson(elements))).toBe(elements);
  const members = `{${many.map((index) => `"\\n${index}":${index}`)}}`;
  expect(JSON.stringify(parseJson(members))).toBe(members);
});

it("verifyNext returns a finding for a document with hundreds of thousands of levels", () => {
  const [first, second] = buildChain(2) as [Receipt, Receipt];
  const text = `${'{"a":'.repeat(500_000)}1${"}".repeat(500_000)}`;
  const verdict = verifyNext(first, { bytes: Buffer.from(text), computedHash: second.hash });
  expect(verdict).toMatchObject({ ok: false, finding: { seq: 2, fault: "not_canonical" } });
});
