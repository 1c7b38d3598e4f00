import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { fill, ledgerClient, openLedger, protocols, type StoredRow, sealBook, startLedger, zeros } from "../support.ts";

const evidence = { list: [1, "two", null, { deep: true }], unicode: "λόγος 🏛 \u0000\n", empty: {} };

const service = await startLedger();
await service.seal({ evidence });
await fill(service.db, 123);

describe("the envelope of a receipt", () => {
  it("has each field of the contract and no other, in its form", async () => {
    const { url } = service;
    const first = (await service.rest("house/receipts/1")).body.receipt;
    const reply = await service.rest("house/receipts/2");
    const { document, hash, canonical } = reply.body.receipt;
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.body)).toEqual(["ok", "receipt", "verify"]);
    expect(reply.body).toEqual({
      ok: true,
      receipt: {
        seq: 2,
        ref: "r:2",
        kind: "seal",
        hash: createHash("sha256").update(canonical).digest("hex"),
        prev_hash: first.hash,
        document: {
          v: 1,
          seq: 2,
          kind: "seal",
          ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          city_day: 1,
          book: expect.stringMatching(/^book \d+$/),
          actor: { agent: "operator", seat: "desk" },
          prev_hash: first.hash,
          refs: [],
          evidence: { ...evidence, session: "2026-01-05", source: "feed:test" },
          body: { type: "session", count: 1, head: first.hash, note: "a note", session: "2026-01-05" },
        },
        canonical: expect.any(String),
        url: `${url}/house/receipts/2`,
        api_url: `${url}/api/v1/house/receipts/2`,
        canonical_url: `${url}/api/v1/house/receipts/2/canonical`,
      },
      verify: {
        rebuild: expect.any(String),
        bytes: expect.any(String),
        chain: expect.any(String),
        prev: expect.any(String),
        expect: hash,
      },
    });
    expect(JSON.parse(canonical)).toEqual(document);
    expect(first.prev_hash).toBe(zeros);
  });

  it("names the configured address in each link and command, and so has another tag", async () => {
    const elsewhere = await startLedger({ db: service.db, config: { siteUrl: "https://stoa.example/x" } });
    const reply = await elsewhere.rest("house/receipts/2");
    const { receipt, verify } = reply.body;
    expect([receipt.url, receipt.api_url, receipt.canonical_url]).toEqual([
      "https://stoa.example/x/house/receipts/2",
      "https://stoa.example/x/api/v1/house/receipts/2",
      "https://stoa.example/x/api/v1/house/receipts/2/canonical",
    ]);
    const { expect: _, ...commands } = verify;
    for (const command of Object.values(commands)) expect(command).toContain("'https://stoa.example/x/");
    const others = ["house/receipts/2", "house/receipts/2/canonical", "house/receipts/3"].map((path) =>
      service.rest(path),
    );
    const tags = [reply, ...(await Promise.all(others))].map(({ headers }) => headers.get("etag"));
    expect(new Set(tags).size).toBe(4);
  });

  it.each(protocols)("is the same over %s, field by field", async (protocol) => {
    const { body } = await service.rest("house/receipts/2");
    const { seq, prev_hash, api_url, canonical_url, ...same } = body.receipt;
    const { receipt, verify } = await ledgerClient(service, protocol).getReceipt({ seq: 2n });
    expect(verify).toMatchObject(body.verify);
    expect({ ...receipt, $typeName: undefined }).toEqual({
      ...same,
      $typeName: undefined,
      seq: BigInt(seq),
      prevHash: prev_hash,
      apiUrl: api_url,
      canonicalUrl: canonical_url,
    });
  });
});

it("the canonical bytes are those that are stored and hashed", async () => {
  const response = await fetch(`${service.url}/api/v1/house/receipts/2/canonical`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const [row] = await service.db.rows<StoredRow>("SELECT hash, canonical FROM receipts WHERE seq = 2");
  expect(bytes.equals(row?.canonical as Buffer)).toBe(true);
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(row?.hash);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  const { canonical } = await ledgerClient(service).getCanonicalReceipt({ seq: 2n });
  expect(Buffer.from(canonical?.data as Uint8Array).equals(bytes)).toBe(true);
});

describe("a reply that never changes", () => {
  it.each(["house/receipts/2", "house/receipts/2/canonical"])("%s is cacheable and is not sent again", async (path) => {
    const { headers } = await service.rest(path);
    const tag = headers.get("etag") as string;
    expect(tag).toMatch(/^"[0-9a-f]{64}"$/);
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    for (const known of [tag, `W/"other" , W/${tag}`, "*"]) {
      const again = await fetch(`${service.url}/api/v1/${path}`, { headers: { "if-none-match": known } });
      expect([known, again.status, await again.text()]).toEqual([known, 304, ""]);
      expect(again.headers.get("etag")).toBe(tag);
      expect(again.headers.get("cache-control")).toContain("immutable");
    }
    for (const other of ['"other"', tag.slice(1, -1), `"x${tag.slice(1)}`]) {
      expect([other, (await service.rest(path, { headers: { "if-none-match": other } })).status]).toEqual([other, 200]);
    }
  });

  it.each(["house/receipts", "house/receipts/999999", "house/receipts/0", "/house/verify"])(
    "is not what %s gives",
    async (path) => {
      const { headers } = await service.rest(path, { headers: { "if-none-match": "*" } });
      expect([headers.get("etag"), headers.get("cache-control")]).not.toContain("public, max-age=31536000, immutable");
      expect(headers.get("etag") ?? "W/").toMatch(/^W\//);
    },
  );
});

describe("a seq that names no receipt", () => {
  it.each<[string, number, string, string?]>([
    ["0", 400, "bad_input", "seq"],
    ["x", 400, "bad_input", "seq"],
    ["01x", 400, "bad_input", "seq"],
    ["9007199254740992", 400, "bad_input", "seq"],
    ["126", 404, "not_found"],
    ["9007199254740991", 404, "not_found"],
  ])("%s is refused with %i", async (seq, status, error, field) => {
    for (const path of [`house/receipts/${seq}`, `house/receipts/${seq}/canonical`]) {
      const reply = await service.rest(path);
      const body = { ok: false, error, ...(field && { field }), message: expect.any(String) };
      expect([reply.status, reply.body]).toEqual([status, body]);
    }
  });
});

describe("pages of receipts", () => {
  it("give each receipt once, in order, and end", async () => {
    const seen: number[] = [];
    for (let from: number | null = 1; from !== null; ) {
      const { body } = await service.rest(`house/receipts?from=${from}&limit=50`);
      expect(Object.keys(body)).toEqual(["ok", "receipts", "next_from", "head_seq"]);
      expect(body.head_seq).toBe(125);
      seen.push(...body.receipts.map(({ seq }: { seq: number }) => seq));
      from = body.next_from;
    }
    expect(seen).toEqual(Array.from({ length: 125 }, (_, index) => index + 1));
  });

  it("begin at 1 with 25 receipts by default", async () => {
    const { body } = await service.rest("house/receipts");
    expect([body.receipts.length, body.next_from]).toEqual([25, 26]);
    expect(body.receipts[1]).toEqual((await service.rest("house/receipts/2")).body.receipt);
    const last = await service.rest("house/receipts?from=101");
    expect([last.body.receipts.length, last.body.next_from]).toEqual([25, null]);
    const overGrpc = await ledgerClient(service).listReceipts({ from: 120n, limit: 3n });
    const { receipts, nextFrom, headSeq } = overGrpc;
    expect([receipts.map(({ seq }) => seq), nextFrom, headSeq]).toEqual([[120n, 121n, 122n], 123n, 125n]);
  });

  it.each([
    ["from=0", 400, "bad_input", "from"],
    ["from=9007199254740992", 400, "bad_input", "from"],
    ["limit=0", 400, "bad_input", "limit"],
    ["limit=101", 400, "bad_input", "limit"],
    ["from=126", 404, "not_found", "from"],
  ])("refuse %s", async (query, status, error, field) => {
    const reply = await service.rest(`house/receipts?${query}`);
    expect([reply.status, reply.body]).toEqual([status, { ok: false, error, field, message: expect.any(String) }]);
  });
});

describe("a receipt that is looked for", () => {
  const find = (query: Record<string, string>) => service.rest(`house/receipts/find?${new URLSearchParams(query)}`);
  const envelopeOf = async (seq: number) => (await service.rest(`house/receipts/${seq}`)).body;

  it("is found by its hash, wherever it is in the chain", async () => {
    const { head_seq: head } = (await service.rest("house/receipts?limit=1")).body;
    for (const seq of [1, 2, 60, head - 1, head]) {
      const envelope = await envelopeOf(seq);
      const { body, headers } = await find({ hash: envelope.receipt.hash });
      expect(body).toEqual(envelope);
      expect(headers.get("etag")).toMatch(/^"[0-9a-f]{64}"$/);
    }
  });

  it("is found by its book and session, compared exactly, over each protocol", async () => {
    const sealed = await service.seal({ book: "Ledger of Zeno ", session: "2026-01-06" });
    const sought = { book: "Ledger of Zeno ", session: "2026-01-06" };
    expect((await find(sought)).body).toEqual(await envelopeOf(Number(sealed.seq)));
    for (const protocol of protocols) {
      expect((await ledgerClient(service, protocol).findReceipt(sought)).receipt?.hash).toBe(sealed.hash);
    }
    for (const book of ["ledger of Zeno ", "Ledger of Zeno", "\u0000"]) {
      const { status, body } = await find({ ...sought, book });
      expect([status, body]).toMatchObject([404, { error: "not_found", field: "session" }]);
    }
  });

  it.each<[Record<string, string>, number, string, string]>([
    [{ hash: "a".repeat(64) }, 404, "not_found", "hash"],
    [{ hash: "A".repeat(64) }, 400, "bad_input", "hash"],
    [{}, 400, "bad_input", "hash"],
    [{ book: "books" }, 400, "bad_input", "session"],
    [{ session: "2026-01-05" }, 400, "bad_input", "book"],
    [{ hash: "a".repeat(64), book: "books", session: "2026-01-05" }, 400, "bad_input", "hash"],
    [{ book: "books", session: "soon" }, 400, "bad_input", "session"],
  ])("is not found by %j", async (query, status, error, field) => {
    const reply = await find(query);
    expect([reply.status, reply.body]).toMatchObject([status, { ok: false, error, field }]);
  });
});

it("a receipt that is sealed during its request is never reported as missing", async () => {
  const db = await createDatabaseWithSchema();
  const [sealing, reading] = [await openLedger(db), await openLedger(db)];
  const { signal } = new AbortController();
  const poll = async (seq: number) => {
    for (;;) {
      try {
        return (await reading.ledger.receipts.get(signal, seq)).seq;
      } catch (error) {
        expect(error).toMatchObject({ code: "not_found" });
      }
    }
  };
  for (let seq = 2; seq < 32; seq += 1) {
    const polled = [poll(seq), poll(seq), poll(seq)];
    await sealBook(sealing.ledger, `polled ${seq}`, "2026-01-05");
    expect(await Promise.all(polled)).toEqual([seq, seq, seq]);
  }
});
