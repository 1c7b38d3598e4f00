// Large receipts: lists and pages of them, and streams, of which a client takes as much as it likes.
import { expect, it } from "vitest";
import { fill, headSeq, startLedger } from "../support.ts";
import { createCountedDatabase, untilQuiet } from "./database-reads.ts";
import { drain, receive, take } from "./followers.ts";

const total = 160;
const size = 60_000;

const db = await createCountedDatabase();
/** Has `total` receipts, which do not fit into the buffers of sockets. */
const service = await startLedger({ db, overrides: { heartbeatMs: 20 } });
await fill(db, total - 1, size);

// Each is written in a way of its own: to a stream of HTTP/2, whose window is small, by Connect to HTTP/1.1, and by our writer.
it.each([
  ["grpc", 60],
  ["connect", total],
  ["ndjson", total],
] as const)(
  "a client that stops reading causes no reads over %s, and gets each receipt once when it continues",
  async (form, count) => {
    const before = db.bytesRead();
    const from = total - count + 1;
    const stream = receive(service, form, { from });
    const received = await take(stream, 3);
    const ahead = (await untilQuiet(db)) - before;
    // Some are in the buffers of the sockets, and one page is in the memory of the service.
    expect(ahead).toBeLessThan(0.75 * count * size);
    received.push(...(await drain(stream)));
    expect(received.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, index) => from + index));
    // No receipt is read twice.
    expect(db.bytesRead() - before).toBeLessThan(1.2 * count * size);
  },
);

it.each([
  ["server-sent events", "text/event-stream", /id: (\d+)\ndata: \{.*\}\n\n/g, ": still here\n\n"],
  ["newline-delimited JSON", "application/x-ndjson", /\{"seq":(\d+),.*\}\n/g, "\n"],
])("%s have heartbeats between receipts while nothing is sealed", async (_, accept, receipt, heartbeat) => {
  const seq = await headSeq(db);
  const url = `${service.url}/api/v1/house/receipts/stream?follow=true&from=${seq}`;
  const response = await fetch(url, { headers: { accept } });
  const decoder = new TextDecoder();
  let text = "";
  let seqs: number[] = [];
  let between = "";
  let sealing: Promise<unknown> | undefined;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    seqs = [...text.matchAll(receipt)].map(([, seq]) => Number(seq));
    between = text.replaceAll(receipt, "");
    if (seqs.length === 2) break;
    if (seqs.length === 1 && between.length >= 3 * heartbeat.length) sealing ??= service.seal();
  }
  await sealing;
  expect(seqs).toEqual([seq, seq + 1]);
  // The last heartbeat may still be on its way.
  expect(heartbeat.repeat(between.length).startsWith(between)).toBe(true);
});

it("lists have pages of 4 MiB at most, with each receipt once, and on pages the newest are first", async () => {
  // What becomes largest when it is escaped again.
  for (let count = 0; count < 20; count++) await service.seal({ evidence: { backslashes: "\\".repeat(32_000) } });
  const last = await headSeq(db);
  const seqs = Array.from({ length: 40 }, (_, index) => last - 39 + index);
  const listed: number[] = [];
  let pages = 0;
  for (let from: number | null = seqs[0] as number; from !== null; pages++) {
    const response = await fetch(`${service.url}/api/v1/house/receipts?from=${from}&limit=100`);
    const text = await response.text();
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4 * 1024 * 1024);
    const body = JSON.parse(text);
    listed.push(...body.receipts.map(({ seq }: { seq: number }) => seq));
    from = body.next_from;
  }
  expect(listed).toEqual(seqs);
  expect(pages).toBeLessThan(5);

  const shown: number[] = [];
  for (let path: string | undefined = "/house/receipts"; shown.length < seqs.length && path !== undefined; ) {
    const page = await (await fetch(service.url + path)).text();
    shown.push(...[...page.matchAll(/aria-label="Receipt (\d+)"/g)].map(([, seq]) => Number(seq)));
    path = /class="next" href="([^"]+)"/.exec(page)?.[1];
  }
  expect(shown.slice(0, seqs.length)).toEqual(seqs.toReversed());
});
