import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import {
  fill,
  type LedgerUnderTest,
  ledgerClient,
  openLedger,
  protocols,
  refusal,
  sealBook,
  startLedger,
  zeros,
} from "../support.ts";

const evidence = { list: [1, "two", null, { deep: true }], unicode: "λόγος 🏛 \u0000\n", empty: {} };

let service: LedgerUnderTest;
beforeAll(async () => {
  service = await startLedger();
  await service.seal({ evidence });
  await fill(service.db, 123);
});

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

  it("names the configured address in each link and command", async () => {
    const elsewhere = await startLedger({ db: service.db, config: { siteUrl: "https://stoa.example/x" } });
    const { receipt, verify } = (await elsewhere.rest("house/receipts/2")).body;
    expect([receipt.url, receipt.api_url, receipt.canonical_url]).toEqual([
      "https://stoa.example/x/house/receipts/2",
      "https://stoa.example/x/api/v1/house/receipts/2",
      "https://stoa.example/x/api/v1/house/receipts/2/canonical",
    ]);
    const { expect: _, ...commands } = verify;
    for (const command of Object.values(commands)) expect(command).toContain("'https://stoa.example/x/");
  });

  it.each(protocols)("is the same over %s, field by field", async (protocol) => {
    for (const seq of [1, 2, 9]) {
      const { body } = await service.rest(`house/receipts/${seq}`);
      const { receipt, verify } = await ledgerClient(service, protocol).getReceipt({ seq: BigInt(seq) });
      expect(verify).toMatchObject(body.verify);
      expect({ ...receipt, $typeName: undefined }).toEqual({
        $typeName: undefined,
        seq: BigInt(seq),
        ref: body.receipt.ref,
        kind: body.receipt.kind,
        hash: body.receipt.hash,
        prevHash: body.receipt.prev_hash,
        document: body.receipt.document,
        canonical: body.receipt.canonical,
        url: body.receipt.url,
        apiUrl: body.receipt.api_url,
        canonicalUrl: body.receipt.canonical_url,
      });
    }
  });
});

describe("the canonical bytes", () => {
  it.each([1, 2, 50])("of receipt %i are those that are stored and hashed", async (seq) => {
    const response = await fetch(`${service.url}/api/v1/house/receipts/${seq}/canonical`);
    const bytes = Buffer.from(await response.arrayBuffer());
    const [row] = await service.db.rows<{ hash: string; canonical: Buffer }>(
      "SELECT hash, canonical FROM receipts WHERE seq = ?",
      [seq],
    );
    expect(bytes.equals(row?.canonical as Buffer)).toBe(true);
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(row?.hash);
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    const { canonical } = await ledgerClient(service).getCanonicalReceipt({ seq: BigInt(seq) });
    expect(Buffer.from(canonical?.data as Uint8Array).equals(bytes)).toBe(true);
    expect((await service.rest(`house/receipts/${seq}`)).body.receipt.canonical).toBe(bytes.toString("utf8"));
  });
});

describe("a reply that never changes", () => {
  it.each(["house/receipts/2", "house/receipts/2/canonical"])("%s is cacheable and is not sent again", async (path) => {
    const { headers } = await service.rest(path);
    const tag = headers.get("etag") as string;
    expect(tag).toMatch(/^"[0-9a-f]{64}"$/);
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, `W/"other" , W/${tag}`, "*"]) {
      const again = await fetch(`${service.url}/api/v1/${path}`, { headers: { "if-none-match": known } });
      expect([known, again.status, await again.text()]).toEqual([known, 304, ""]);
      expect(again.headers.get("etag")).toBe(tag);
      expect(again.headers.get("cache-control")).toContain("immutable");
    }
    for (const other of ['"other"', tag.slice(1, -1), "", `"x${tag.slice(1)}`]) {
      expect([other, (await service.rest(path, { headers: { "if-none-match": other } })).status]).toEqual([other, 200]);
    }
  });

  it("has a different tag for each receipt, form and address", async () => {
    const elsewhere = await startLedger({ db: service.db, config: { siteUrl: "https://stoa.example" } });
    const replies = [
      await service.rest("house/receipts/2"),
      await service.rest("house/receipts/2/canonical"),
      await service.rest("house/receipts/3"),
      await elsewhere.rest("house/receipts/2"),
    ];
    expect(new Set(replies.map(({ headers }) => headers.get("etag"))).size).toBe(4);
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
  const bad = { status: 400, body: { ok: false, error: "bad_input", field: "seq", message: expect.any(String) } };
  it.each(["0", "-1", "x", "1.5", "01x", "%201", "1e0", "9007199254740992", "99999999999999999999", "-0x1"])(
    "%s is bad input",
    async (seq) => {
      for (const path of [`house/receipts/${seq}`, `house/receipts/${seq}/canonical`]) {
        const { status, body } = await service.rest(path);
        expect({ status, body }).toEqual(bad);
      }
    },
  );

  it.each(["126", "9007199254740991"])("%s, beyond the head, is not found", async (seq) => {
    for (const path of [`house/receipts/${seq}`, `house/receipts/${seq}/canonical`]) {
      const { status, body } = await service.rest(path);
      expect({ status, body }).toEqual({
        status: 404,
        body: { ok: false, error: "not_found", message: expect.any(String) },
      });
    }
  });

  it.each(protocols)("is refused in the same way over %s", async (protocol) => {
    const client = ledgerClient(service, protocol);
    for (const seq of [0n, -1n, 2n ** 53n, -(2n ** 63n)]) {
      const refused = { code: "InvalidArgument", error: "bad_input", field: "seq" };
      expect(await refusal(client.getReceipt({ seq }))).toEqual(refused);
      expect(await refusal(client.getCanonicalReceipt({ seq }))).toEqual(refused);
    }
    expect(await refusal(client.getReceipt({ seq: 126n }))).toEqual({ code: "NotFound", error: "not_found" });
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
    expect([overGrpc.receipts.map(({ seq }) => seq), overGrpc.nextFrom, overGrpc.headSeq]).toEqual([
      [120n, 121n, 122n],
      123n,
      125n,
    ]);
  });

  it.each([
    ["from=0", 400, "bad_input", "from"],
    ["from=-1", 400, "bad_input", "from"],
    ["from=x", 400, "bad_input", "from"],
    ["from=9007199254740992", 400, "bad_input", "from"],
    ["limit=0", 400, "bad_input", "limit"],
    ["limit=101", 400, "bad_input", "limit"],
    ["limit=1&limit=2", 400, "bad_input", "limit"],
    ["from=126", 404, "not_found", "from"],
    ["from=9007199254740991", 404, "not_found", "from"],
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
    [{ hash: "0".repeat(64) }, 404, "not_found", "hash"],
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

  it("is named where its session is sealed a second time", async () => {
    const { seq } = await service.seal({ book: "once", session: "2026-01-05" });
    const again = service.seal({ book: "once", session: "2026-01-05" });
    await expect(again).rejects.toThrow(`Receipt ${seq} seals the session 2026-01-05 of this book.`);
  });
});

it("a receipt that is sealed during its request is never reported as missing", async () => {
  const { db } = await startLedger();
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
  for (let seq = 2; seq < 62; seq += 1) {
    const polled = [poll(seq), poll(seq), poll(seq)];
    await sealBook(sealing.ledger, `polled ${seq}`, "2026-01-05");
    expect(await Promise.all(polled)).toEqual([seq, seq, seq]);
  }
});
