import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fill, headSeq, startLedger, verifyLedger } from "../support.ts";
import { drain, forms, receive, receiveParts, StreamFailure, take } from "./followers.ts";

/** More than one page. */
const backlog = 150;

const a = await startLedger();
const b = await startLedger({ db: a.db });
await fill(a.db, backlog - 1);

function seqs(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

async function failureOf(action: Promise<unknown>): Promise<{ code: string; status: number | undefined }> {
  const error = await action.then(
    () => undefined,
    (reason) => reason,
  );
  if (!(error instanceof StreamFailure)) throw error ?? new Error("it did not fail");
  return { code: error.code, status: error.status };
}

describe.each(forms)("a stream over %s", (form) => {
  it("sends the existing receipts, then new ones", async () => {
    const head = await headSeq(a.db);
    const leave = new AbortController();
    const stream = receive(a, form, { follow: true }, leave.signal);
    const old = await take(stream, head);
    const sealed = [await a.seal(), await a.seal(), await a.seal()];
    const all = [...old, ...(await take(stream, 3))];
    expect(all.map(({ seq }) => seq)).toEqual(seqs(1, head + 3));
    expect(all.slice(-3).map(({ hash }) => hash)).toEqual(sealed.map(({ hash }) => hash));
    const rows = await a.db.rows<{ hash: string; prev_hash: string; canonical: Buffer }>(
      "SELECT hash, prev_hash, canonical FROM receipts ORDER BY seq",
    );
    for (const [index, { hash, prevHash, canonical }] of all.entries()) {
      const row = rows[index];
      expect([hash, prevHash, canonical]).toEqual([row?.hash, row?.prev_hash, row?.canonical.toString("utf8")]);
    }
    leave.abort();
  });
});

it("a stream ends at the head when it does not follow", async () => {
  const head = await headSeq(a.db);
  expect((await drain(receive(a, "grpc", { from: 50 }))).map(({ seq }) => seq)).toEqual(seqs(50, head));
  expect((await drain(receive(a, "grpc", { from: head, follow: false }))).map(({ seq }) => seq)).toEqual([head]);
  expect(await drain(receive(a, "grpc", { from: head + 1 }))).toEqual([]);
});

it("a stream may begin with the first receipt at the earliest, and at most one beyond the head", async () => {
  const head = await headSeq(a.db);
  const leave = new AbortController();
  const next = take(receive(a, "grpc", { from: head + 1, follow: true }, leave.signal), 1);
  await a.seal();
  expect((await next).map(({ seq }) => seq)).toEqual([head + 1]);
  leave.abort();
  for (const [from, code] of [
    [head + 3, "NotFound"],
    [0, "InvalidArgument"],
    [-1, "InvalidArgument"],
  ] as const) {
    for (const follow of [true, false]) {
      expect((await failureOf(drain(receive(a, "grpc", { from, follow })))).code).toBe(code);
    }
  }
});

it("a stream sends each receipt once to a client that reconnects during sealing, at any instance", async () => {
  const first = (await headSeq(a.db)) + 1;
  const last = first + 23;
  const sealing = (async () => {
    for (let seq = first; seq <= last; seq++) await (seq % 2 ? a : b).seal();
  })();
  const seen: number[] = [];
  for (let next = first, turn = 0; next <= last; next = first + seen.length, turn++) {
    const leave = new AbortController();
    const form = forms[turn % forms.length] as (typeof forms)[number];
    const stream = receive(turn % 2 ? a : b, form, { from: next, follow: true }, leave.signal);
    const count = Math.min(1 + ((next * 7) % 5), last - next + 1);
    for (const { seq } of await take(stream, count)) seen.push(seq);
    leave.abort();
  }
  await sealing;
  expect(seen).toEqual(seqs(first, last));
  await verifyLedger(a.db);
});

describe("newline-delimited JSON", () => {
  it("has one receipt per line, in the form of GetReceipt", async () => {
    const response = await fetch(`${a.url}/api/v1/house/receipts/stream?from=2`);
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const [line = ""] = (await response.text()).split("\n");
    expect(JSON.parse(line)).toEqual((await a.rest("house/receipts/2")).body.receipt);
  });

  it.each(["from=x", "from=9007199254740992", "follow=maybe", "from=1&from=2"])("refuses %s", async (query) => {
    const { status, body } = await a.rest(`house/receipts/stream?${query}`);
    expect([status, body]).toMatchObject([400, { ok: false, error: "bad_input", field: query.split("=")[0] }]);
  });
});

describe("server-sent events", () => {
  it("have the seq as id, and resume after Last-Event-ID", async () => {
    const never = new AbortController().signal;
    const head = await headSeq(a.db);
    const all = await drain(receiveParts(a, "sse", { from: 1 }, never));
    expect(all.map(({ id }) => Number(id))).toEqual(seqs(1, head));
    expect(JSON.parse(all[1]?.data as string)).toEqual((await a.rest("house/receipts/2")).body.receipt);
    const resumed = await drain(receiveParts(a, "sse", { from: 1 }, never, { "last-event-id": `${head - 2}` }));
    expect(resumed.map(({ id }) => Number(id))).toEqual([head - 1, head]);
    const done = await drain(receiveParts(a, "sse", { from: 1 }, never, { "last-event-id": `${head}` }));
    expect(done).toEqual([]);
    const response = await fetch(`${a.url}/api/v1/house/receipts/stream`, { headers: { accept: "text/event-stream" } });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    await response.body?.cancel();
  });
});

describe.each([
  ["ndjson", "application/x-ndjson", ""],
  ["sse", "text/event-stream", "event: error\ndata: "],
] as const)("a failure of a stream over %s", (form, accept, prefix) => {
  it("has its own status if it comes before the head is sent", async () => {
    const from = (await headSeq(a.db)) + 2;
    // The head waits for it only for a moment, which does not pass here.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    for (const follow of [true, false]) {
      expect(await failureOf(drain(receive(a, form, { from, follow })))).toEqual({ code: "not_found", status: 404 });
    }
  });

  it("comes in the stream if it takes longer", async () => {
    const from = (await headSeq(a.db)) + 2;
    const locking = await a.db.pool.getConnection();
    onTestFinished(() => locking.release());
    await locking.query("LOCK TABLES ledger_head WRITE");
    const response = await fetch(`${a.url}/api/v1/house/receipts/stream?from=${from}`, { headers: { accept } });
    await locking.query("UNLOCK TABLES");
    const text = await response.text();
    expect([response.status, text.slice(0, prefix.length)]).toEqual([200, prefix]);
    expect(JSON.parse(text.slice(prefix.length))).toMatchObject({ ok: false, error: "not_found", field: "from" });
  });
});
