import { beforeAll, describe, expect, it } from "vitest";
import { fill, type LedgerUnderTest, startLedger } from "../support.ts";
import { type Form, forms, receive, StreamFailure, take } from "./followers.ts";
import { countQueries, settled } from "./query-count.ts";

const count = countQueries();

describe("a service that stops", () => {
  it("ends every stream with an error, and does not wait for the clients", async () => {
    const service = await startLedger({ config: { drainTimeoutMs: 60_000 } });
    await fill(service.db, 30);
    const followers = forms.flatMap((form) =>
      [form, form].map((each) => ({ form: each, stream: receive(service, each, { follow: true }) })),
    );
    await Promise.all(followers.map(({ stream }) => take(stream, 31)));
    const ends = followers.map(({ form, stream }) =>
      stream.next().then(
        () => ({ form, code: "a quiet end" }),
        (error) => ({ form, code: error instanceof StreamFailure ? error.code : String(error) }),
      ),
    );
    const begun = performance.now();
    await service.app.close();
    expect(performance.now() - begun).toBeLessThan(10_000);
    const expected = (form: Form) => (form === "ndjson" || form === "sse" ? "unavailable" : "Unavailable");
    expect(await Promise.all(ends)).toEqual(followers.map(({ form }) => ({ form, code: expected(form) })));
    expect(service.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  it("ends a stream in the middle of its backfill", async () => {
    const service = await startLedger({ config: { drainTimeoutMs: 60_000 } });
    await fill(service.db, 400, 20_000);
    const streams = forms.map((form) => receive(service, form, { follow: true }));
    await Promise.all(streams.map((stream) => take(stream, 1)));
    const closed = service.app.close();
    const ends = await Promise.all(
      streams.map(async (stream) => {
        let last = 1;
        try {
          for await (const { seq } of stream) {
            expect(seq).toBe(last + 1);
            last = seq;
          }
        } catch (error) {
          return error instanceof StreamFailure ? error.code : String(error);
        }
        return "a quiet end";
      }),
    );
    expect(ends).toEqual(forms.map((form) => (form === "ndjson" || form === "sse" ? "unavailable" : "Unavailable")));
    await closed;
  });
});

const total = 600;
/** Has `total` receipts, which do not fit into the buffers of sockets. */
let large: LedgerUnderTest;
beforeAll(async () => {
  large = await startLedger();
  await fill(large.db, total - 1, 60_000);
});

describe.each(forms)("a client over %s", (form) => {
  it("that disconnects ends the work that was done for it", async () => {
    const service = await startLedger();
    await fill(service.db, 10);
    const leave = new AbortController();
    const streams = Array.from({ length: 3 }, () => receive(service, form, { follow: true }, leave.signal));
    await Promise.all(streams.map((stream) => take(stream, 11)));
    const pending = streams.map((stream) => stream.next().catch(() => "left"));
    // The head is read as long as a client waits.
    const looks = count.heads;
    await new Promise<void>((resolve) => {
      const seen = setInterval(() => {
        if (count.heads < looks + 2) return;
        clearInterval(seen);
        resolve();
      }, 10);
    });
    leave.abort();
    expect(await Promise.all(pending)).toEqual(["left", "left", "left"]);
    await settled(() => count.heads, 700);
    expect(service.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    // A stop has nothing to wait for.
    await service.app.close();
  });

  it("that stops reading causes no reads, and gets each receipt once when it continues", async () => {
    const before = count.receipts;
    const stream = receive(large, form, {});
    const received = await take(stream, 3);
    const ahead = (await settled(() => count.receipts, 400)) - before;
    // Some are in the buffers of the sockets, and one page is in the memory of the service.
    expect(ahead).toBeLessThan(total / 2);
    for await (const each of stream) received.push(each);
    expect(received.map(({ seq }) => seq)).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    expect(count.receipts - before).toBe(total);
  });
});

describe("server-sent events", () => {
  it("have keep-alive comments while nothing is sealed, and then continue with new receipts", async () => {
    const service = await startLedger({ overrides: { heartbeatMs: 20 } });
    const leave = new AbortController();
    const response = await fetch(`${service.url}/api/v1/house/receipts/stream?follow=true`, {
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
      if (/^id: 2$/m.test(text) && text.endsWith("\n\n")) break;
    }
    leave.abort();
    expect(text.replaceAll(": still here\n\n", "").match(/^id: .*$/gm)).toEqual(["id: 1", "id: 2"]);
    // Each heartbeat is a separate comment between events, never inside one.
    for (const part of text.split("\n\n").slice(0, -1))
      expect(part).toMatch(/^(?:: still here|id: \d+\ndata: \{.*\})$/);
  });
});

it("newline-delimited JSON has empty lines while nothing is sealed", async () => {
  const service = await startLedger({ overrides: { heartbeatMs: 20 } });
  const response = await fetch(`${service.url}/api/v1/house/receipts/stream?follow=true`);
  let text = "";
  let sealed = false;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    if (text.split("\n\n").length > 2 && !sealed) {
      sealed = true;
      await service.seal();
    }
    if (/^\{"seq":2,.*\n/m.test(text)) break;
  }
  const lines = text.split("\n").filter((line) => line !== "");
  expect(lines.map((line) => JSON.parse(line).seq)).toEqual([1, 2]);
});
