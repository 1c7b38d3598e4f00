// How streams end, http/streams/ends.test.ts tells.
import { describe, expect, it } from "vitest";
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

describe("while nothing is sealed", () => {
  it("server-sent events have comments, and then continue with new receipts", async () => {
    const leave = new AbortController();
    const seq = await headSeq(db);
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
    const seq = await headSeq(db);
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
