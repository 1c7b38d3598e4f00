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

it("says how many acts of moderation a daily receipt seals", () => {
  const hash = "0123456789abcdef".repeat(4);
  const daily = (count: number) => show({ body: { type: "daily" }, evidence: { moderations: { count, hash } } });
  expect(daily(0)).toContain('No new acts in the <a href="/moderations">public record</a>');
  expect(daily(1)).toContain("1 new act in the");
  expect(daily(1_200)).toContain("1,200 new acts in the");
  expect(daily(1)).toContain("<span>01234567</span><span>89abcdef</span>");
});

describe("the page of a receipt that was tampered with", () => {
  it.each<[string, JsonObject | undefined, string]>([
    ["no document", undefined, "A document that cannot be read"],
    ["an empty document", {}, "Sealed as nothing known here"],
    ["a body that is a list", { body: [1, 2] }, "Sealed as nothing known here"],
    [
      "a session without a date",
      { body: { type: "session", session: { a: 1 } }, book: [] },
      "Session of no date, book of no name",
    ],
    [
      "a recovery of no number",
      { body: { type: "recovery", abandoned_seq: [1], abandoned_hash: {} } },
      "A recovery, which abandons receipt of no number",
    ],
    [
      "times that are none",
      { ts: "yesterday", city_day: -1.5, body: { type: "daily", date: null } },
      "The day of no date",
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

  it.each<[string, JsonObject]>([
    ["no numbers of acts", { count: "<b>", hash: "ab".repeat(32) }],
    ["negative numbers", { count: -1, hash: "ab".repeat(32) }],
    ["no hash", { count: 1, hash: 5 }],
    ["nothing", {}],
  ])("says nothing of moderation if its evidence holds %s", (_name, moderations) => {
    expect(show({ evidence: { moderations } })).not.toMatch(/public record|<b>/);
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
