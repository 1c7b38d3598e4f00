import { beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../support/wait.ts";
import { fill, type LedgerUnderTest, startLedger } from "../support.ts";
import { type CountedDatabase, createCountedDatabase, untilQuiet } from "./database-reads.ts";
import { drain, forms, receive, StreamFailure, take } from "./followers.ts";

const total = 200;
const size = 60_000;
const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };

let db: CountedDatabase;
/** Has `total` receipts, which do not fit into the buffers of sockets. */
let service: LedgerUnderTest;
beforeAll(async () => {
  db = await createCountedDatabase();
  service = await startLedger({ db, config: { metrics }, overrides: { heartbeatMs: 20 } });
  await fill(db, total - 1, size);
});

async function openStreams(): Promise<number> {
  const text = await (await fetch(service.app.metricsUrl as string)).text();
  return Number(/^stoa_streams_open (\S+)$/m.exec(text)?.[1]);
}

describe("a client that disconnects", () => {
  it("ends the work that was done for it", async () => {
    const leave = new AbortController();
    const streams = forms.map((form) => receive(service, form, { from: total, follow: true }, leave.signal));
    await Promise.all(streams.map((stream) => take(stream, 1)));
    const pending = streams.map((stream) => stream.next().catch(() => "left"));
    expect(await openStreams()).toBe(forms.length);
    leave.abort();
    expect(await Promise.all(pending)).toEqual(forms.map(() => "left"));
    await waitUntil("no open stream", async () => (await openStreams()) === 0);
    expect(service.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});

describe("a client that stops reading", () => {
  // Each is written in a way of its own: to a stream of HTTP/2, by Connect to HTTP/1.1, and by our own writer.
  it.each(["grpc", "connect", "ndjson"] as const)(
    "causes no reads over %s, and gets each receipt once when it continues",
    async (form) => {
      const before = db.bytesRead();
      const stream = receive(service, form, {});
      const received = await take(stream, 3);
      const ahead = (await untilQuiet(db)) - before;
      // Some are in the buffers of the sockets, and one page is in the memory of the service.
      expect(ahead).toBeLessThan((total * size) / 2);
      received.push(...(await drain(stream)));
      expect(received.map(({ seq }) => seq)).toEqual(Array.from({ length: total }, (_, index) => index + 1));
      // No receipt is read twice.
      expect(db.bytesRead() - before).toBeLessThan(1.2 * total * size);
    },
  );
});

describe("while nothing is sealed", () => {
  it("server-sent events have comments, and then continue with new receipts", async () => {
    const leave = new AbortController();
    const [{ seq }] = (await db.rows<{ seq: number }>("SELECT seq FROM ledger_head")) as [{ seq: number }];
    const response = await fetch(`${service.url}/api/v1/house/receipts/stream?follow=true&from=${seq}`, {
      headers: { accept: "text/event-stream" },
      signal: leave.signal,
    });
    let text = "";
    let sealed = false;
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const beats = text.split(": still here\n\n").length - 1;
      if (beats >= 3 && !sealed) {
        sealed = true;
        await service.seal();
      }
      if (text.includes(`\nid: ${seq + 1}\n`) && text.endsWith("\n\n")) break;
    }
    leave.abort();
    const ids = [`id: ${seq}`, `id: ${seq + 1}`];
    expect(text.replaceAll(": still here\n\n", "").match(/^id: .*$/gm)).toEqual(ids);
    // Each heartbeat is a separate comment between events, never inside one.
    for (const part of text.split("\n\n").slice(0, -1))
      expect(part).toMatch(/^(?:: still here|id: \d+\ndata: \{.*\})$/);
  });

  it("newline-delimited JSON has empty lines", async () => {
    const [{ seq }] = (await db.rows<{ seq: number }>("SELECT seq FROM ledger_head")) as [{ seq: number }];
    const response = await fetch(`${service.url}/api/v1/house/receipts/stream?follow=true&from=${seq}`);
    let text = "";
    let sealed = false;
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      if (text.split("\n\n").length > 2 && !sealed) {
        sealed = true;
        await service.seal();
      }
      if (new RegExp(`^\\{"seq":${seq + 1},.*\n`, "m").test(text)) break;
    }
    const lines = text.split("\n").filter((line) => line !== "");
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual([seq, seq + 1]);
  });
});

it("a service that stops ends every stream with an error, and does not wait for the clients", async () => {
  const stopping = await startLedger({ db, config: { drainTimeoutMs: 600_000 } });
  const head = (await stopping.seal()).seq;
  // Some clients have received everything, and others are in the middle.
  const streams = forms.flatMap((form) =>
    [Number(head), 1].map((from) => ({ form, stream: receive(stopping, form, { from, follow: true }) })),
  );
  const begun = await Promise.all(
    streams.map(async ({ stream, form }) => ({ form, stream, last: (await take(stream, 1))[0]?.seq as number })),
  );
  const closed = stopping.app.close();
  const ends = await Promise.all(
    begun.map(async ({ stream, form, last }) => {
      let next = last + 1;
      const failure = await (async () => {
        for await (const { seq } of stream) expect(seq).toBe(next++);
      })().catch((error) => error);
      return { form, code: failure instanceof StreamFailure ? failure.code : String(failure) };
    }),
  );
  const unavailable = (form: string) => (form === "ndjson" || form === "sse" ? "unavailable" : "Unavailable");
  expect(ends).toEqual(streams.map(({ form }) => ({ form, code: unavailable(form) })));
  await closed;
  expect(stopping.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
