import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ReceiptSchema, VerifyCommandsSchema } from "../../gen/stoa/v1/receipt_pb.js";
import { receiptView } from "../../src/site/views/receipt.ts";
import { receiptsView } from "../../src/site/views/receipts.ts";

function receiptOf(document: JsonObject | undefined, hash = "ab".repeat(32)) {
  return create(ReceiptSchema, {
    seq: 7n,
    hash,
    prevHash: "cd".repeat(32),
    canonical: JSON.stringify(document) ?? "\u0000 not JSON",
    ...(document === undefined ? {} : { document }),
  });
}

function show(document: JsonObject | undefined, hash?: string): string {
  const receipt = receiptOf(document, hash);
  const commands = create(VerifyCommandsSchema, { bytes: "curl 'x' | sha256sum" });
  const page = receiptView({
    receipt,
    commands,
    hasNext: false,
    site: "http://stoa.test",
    modules: ["/a.js", "/b.js"],
  });
  return page.main.text + receiptsView([receipt], 7n, false).main.text;
}

function nested(levels: number): JsonObject {
  let value: JsonObject = {};
  for (let i = 0; i < levels; i++) value = { a: value };
  return value;
}

describe("the page of a receipt that was tampered with", () => {
  it.each<[string, JsonObject | undefined, string]>([
    ["no document", undefined, "A document that cannot be read"],
    ["an empty document", {}, "Sealed as nothing known here"],
    [
      "numbers and dates that are none",
      { ts: "yesterday", city_day: -1.5, body: { type: "recovery", abandoned_seq: [1], abandoned_hash: {} } },
      "A recovery, which abandons receipt of no number",
    ],
    [
      "what passes itself off as escaped",
      { evidence: { isEscaped: true }, body: { type: { isEscaped: true } } },
      "nothing known",
    ],
    [
      "HTML",
      { book: "<script>", body: { type: "session", note: "<b>", session: "<i>" }, actor: { agent: "<u>" } },
      "&lt;i&gt;",
    ],
  ])("shows what the document holds: %s", (_name, document, said) => {
    const text = show(document);
    expect(text).toContain(said);
    expect(text).not.toMatch(/<(?:script|b|i|u)>/);
    expect(text).toContain("at no known time");
  });

  it("says nothing of moderation if its evidence does not", () => {
    for (const moderations of [{ count: "<b>", hash: "ab".repeat(32) }, { count: 1, hash: 5 }, {}]) {
      expect(show({ evidence: { moderations } })).not.toMatch(/public record|<b>/);
    }
    expect(show({ evidence: { moderations: { count: 1, hash: '"><script>' } } })).not.toContain("<script>");
  });

  it("shows malformed hashes, and leaves out evidence that is nested too deeply", () => {
    expect(show({}, '"><script>')).not.toContain("<script>");
    expect(show({}, "")).toContain("Receipt 7");
    const deep = receiptOf({});
    deep.document = { evidence: nested(100_000) };
    const commands = create(VerifyCommandsSchema);
    const page = receiptView({ receipt: deep, commands, hasNext: true, site: "", modules: [] });
    expect(page.main.text).not.toContain("Its evidence");
  });
});
