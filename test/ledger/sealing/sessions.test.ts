import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LedgerOperatorService } from "../../../gen/stoa/v1/ledger_operator_service_pb.js";
import { startService } from "../../support/service.ts";
import {
  asOperator,
  ledgerClient,
  operatorToken,
  protocols,
  refusal,
  type SessionSeed,
  startLedger,
  TestClock,
  verifyLedger,
} from "../support.ts";

const clock = new TestClock("2026-03-05T13:37:00.250Z");
const service = await startLedger({ clock, config: { ledgerEpoch: "2026-03-01" } });

/** Seals over Connect JSON with a bare HTTP client, which can send values that other encodings cannot express. */
async function sealJson(body: unknown) {
  const response = await fetch(`${service.url}/stoa.v1.LedgerOperatorService/SealSession`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${operatorToken}` },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const reply = (await response.json()) as { code?: string; details?: { debug?: { error: string; field?: string } }[] };
  const detail = reply.details?.[0]?.debug;
  return { status: response.status, code: reply.code, error: detail?.error, field: detail?.field };
}

const good = { book: "json", session: "2026-03-01", note: "", source: "feed:test" };

/** The number of receipts, without the dailies that the clock seals meanwhile. */
async function count(): Promise<number> {
  const sql = "SELECT (SELECT COUNT(*) FROM receipts) - (SELECT COUNT(*) FROM ledger_days) AS n";
  return (await service.db.rows<{ n: number }>(sql))[0]?.n as number;
}

describe("a session", () => {
  it.each(protocols)("has exactly the fields of the contract, sealed over %s", async (protocol) => {
    const book = `The Book of ${protocol}`;
    const evidence = { rows: 12, digest: "ab12", nested: { list: [1, null, true] } };
    const receipt = await service.seal(
      { book, session: "2026-03-05", note: "closed", source: "feed:prices/1", evidence },
      protocol,
    );
    const documents = await verifyLedger(service.db);
    const prev_hash = receipt.prevHash;
    expect(receipt.document).toEqual({
      v: 1,
      seq: documents.length,
      kind: "seal",
      ts: "2026-03-05T13:37:00.250Z",
      city_day: 5,
      book,
      actor: { agent: "operator", seat: "desk" },
      prev_hash,
      refs: [],
      evidence: { ...evidence, session: "2026-03-05", source: "feed:prices/1" },
      body: { type: "session", count: documents.length - 1, head: prev_hash, note: "closed", session: "2026-03-05" },
    });
    expect(documents.at(-1)).toEqual(receipt.document);
    const { body } = await service.rest(`house/receipts/${receipt.seq}`);
    expect(body.receipt).toMatchObject({ hash: receipt.hash, canonical: receipt.canonical, url: receipt.url });
  });

  it("is sealed once for its book and date, and the error names its receipt", async () => {
    const seed: SessionSeed = { book: "once", session: "2026-03-04" };
    const { seq } = await service.seal(seed);
    const before = await count();
    for (const again of [seed, { ...seed, note: "another" }]) {
      const exists = { code: "AlreadyExists", error: "exists", field: "session" };
      expect(await refusal(service.seal(again))).toEqual(exists);
    }
    await expect(service.seal(seed)).rejects.toThrow(`Receipt ${seq} seals the session 2026-03-04 of this book.`);
    expect(await count()).toBe(before);
    await service.seal({ ...seed, session: "2026-03-03" });
  });

  it("names the actor that the caller gives", async () => {
    const receipt = await service.seal({ actorAgent: "auditor", actorSeat: "gallery" });
    expect(receipt.document?.actor).toEqual({ agent: "auditor", seat: "gallery" });
    const half = await service.seal({ actorSeat: "gallery" });
    expect(half.document?.actor).toEqual({ agent: "operator", seat: "gallery" });
  });

  it("needs the operator token itself", async () => {
    const { key } = await service.register();
    const client = service.connect(LedgerOperatorService, "grpc");
    const before = await count();
    const wrong = [
      undefined,
      "",
      "Bearer ",
      `Basic ${operatorToken}`,
      operatorToken,
      `Bearer ${operatorToken}x`,
      `Bearer ${operatorToken.slice(0, -1)}g`,
      `Bearer ${key}`,
    ];
    for (const authorization of wrong) {
      const options = authorization === undefined ? {} : { headers: { authorization } };
      // Without a token, the caller learns nothing about faults of the message either.
      for (const call of [client.sealSession(good, options), client.sealSession({}, options)]) {
        const refused = { code: "Unauthenticated", error: "unauthorized" };
        expect([authorization, await refusal(call)]).toEqual([authorization, refused]);
      }
    }
    expect(await count()).toBe(before);
  });
});

it("sealing is an unknown operation if no token is configured", async () => {
  const closed = await startService({ db: service.db, overrides: { now: clock.now } });
  for (const protocol of protocols) {
    const client = closed.connect(LedgerOperatorService, protocol);
    for (const options of [asOperator, {}]) {
      expect(await refusal(client.sealSession(good, options))).toEqual({ code: "Unimplemented", error: "not_found" });
    }
  }
  await closed.app.close();
});

describe("books", () => {
  it("are the same only if every byte is the same", async () => {
    const before = await count();
    const names = ["Book", "book", "book ", " book", "bóok", "bo\u0301ok", "book\u0000", "ﬁ", "fi", "ß", "ss"];
    for (const book of names) await service.seal({ book, session: "2026-03-02" });
    expect(await count()).toBe(before + names.length);
    for (const book of names) {
      expect(await refusal(service.seal({ book, session: "2026-03-02" }))).toMatchObject({ error: "exists" });
    }
    await verifyLedger(service.db);
  });
});

describe("a session is refused", () => {
  const bad = (field: string) => ({ code: "InvalidArgument", error: "bad_input", field });

  it.each(["", "2025-02-29", "2026-3-5", "2026-03-05\n", "2026-03-06", "9999-12-31"])(
    "for the date %j",
    async (session) => {
      expect(await refusal(service.seal({ session }))).toEqual(bad("session"));
    },
  );

  it("for tomorrow by UTC, but not when that day has come", async () => {
    clock.set("2026-03-05T23:59:59.999Z");
    expect(await refusal(service.seal({ session: "2026-03-06" }))).toEqual(bad("session"));
    clock.set("2026-03-06T00:00:00.000Z");
    expect((await service.seal({ session: "2026-03-06" })).document?.city_day).toBe(6);
  });

  it.each<[string, SessionSeed]>([
    ["book", { book: "" }],
    ["book", { book: "🏛".repeat(65) }],
    ["book", { book: "a\u007f" }],
    ["note", { note: "x".repeat(1001) }],
    ["source", { source: "" }],
    ["source", { source: "x".repeat(501) }],
    ["actor_agent", { actorAgent: "x".repeat(65) }],
    ["actor_seat", { actorSeat: "x".repeat(65) }],
  ])("for a bad %s", async (field, seed) => {
    const before = await count();
    expect(await refusal(service.seal(seed))).toEqual(bad(field));
    expect(await count()).toBe(before);
  });

  it("but not if every text is just within the limits", async () => {
    const seed = {
      book: "🏛".repeat(64),
      note: "🏛".repeat(1000),
      source: "🏛".repeat(500),
      actorAgent: "🏛".repeat(64),
      actorSeat: "é",
    };
    expect((await service.seal(seed)).document).toMatchObject({ book: seed.book, body: { note: seed.note } });
  });

  const deep = (levels: number) => JSON.parse(`${"[".repeat(levels)}1${"]".repeat(levels)}`);

  it.each<[string, JsonObject]>([
    ["evidence.a", { a: 1.5 }],
    ["evidence.a", { a: 2 ** 53 }],
    ["evidence.a.b[1].c", { a: { b: [0, { c: 0.1 }] } }],
    ["evidence.list[2][0]", { list: [1, 2, ["a\u007fb"]] }],
    ["evidence.naïve", { naïve: 1 }],
    ["evidence.a.\u007f", { a: { "\u007f": 1 } }],
    ["evidence.session", { session: "2026-03-01" }],
    ["evidence.source", { source: "mine" }],
    [`evidence.a${"[0]".repeat(16)}`, { a: deep(16) }],
    ["evidence", { a: "x".repeat(64 * 1024) }],
    ["evidence", { a: "é".repeat(32 * 1024) }],
  ])("for the evidence at %s", async (field, evidence) => {
    expect(await refusal(service.seal({ evidence }))).toEqual(bad(field));
    expect(await sealJson({ ...good, evidence })).toMatchObject({ status: 400, error: "bad_input", field });
  });

  it("but not if its evidence is just within the limits, and every client can read it", async () => {
    const { session, source } = { session: "2026-01-05", source: "feed:test" };
    const around = JSON.stringify({ a: "", session, source }).length;
    const full = await service.seal({ session, source, evidence: { a: "x".repeat(64 * 1024 - around) } });
    expect(JSON.stringify(full.document?.evidence)).toHaveLength(64 * 1024);
    let objects: JsonObject = {};
    for (let level = 1; level < 16; level++) objects = { a: objects };
    const nested = await service.seal({ evidence: { a: deep(15), objects, session_: "", Session: 1 } });
    for (const protocol of protocols) {
      const read = await ledgerClient(service, protocol).getReceipt({ seq: nested.seq });
      expect(read.receipt?.document).toEqual(nested.document);
    }
    await expect(refusal(service.seal({ evidence: { objects: { a: objects } } }))).resolves.toMatchObject({
      error: "bad_input",
    });
  });

  it("but not for names that every JavaScript object has", async () => {
    const evidence = JSON.parse('{"__proto__": {"a": 1}, "constructor": 1, "toString": "x"}');
    const { seq, canonical } = await service.seal({ evidence });
    expect(canonical).toContain('"evidence":{"__proto__":{"a":1},"constructor":1,"session":"2026-01-05",');
    expect(canonical).toContain('"toString":"x"}');
    const { body } = await service.rest(`house/receipts/${seq}`);
    expect(Object.keys(body.receipt.document.evidence).sort()[0]).toBe("__proto__");
  });

  it("for evidence that is no object, and for half a character in a text", async () => {
    const half = (body: object) => JSON.stringify(body).replace("@", "\\ud800");
    const bad = [{ ...good, evidence: [] }, half({ ...good, book: "@" }), half({ ...good, evidence: { a: "@" } })];
    for (const body of bad) expect(await sealJson(body)).toMatchObject({ status: 400, code: "invalid_argument" });
  });

  it("and leaves no trace", async () => {
    await verifyLedger(service.db);
    expect(service.log.filter(({ level }) => level === 50)).toEqual([]);
    expect(JSON.stringify(service.log)).not.toContain(operatorToken);
  });
});
