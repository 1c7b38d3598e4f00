import { describe, expect, it } from "vitest";
import { maxLineBytes } from "../../src/client/lines.ts";
import { type ReadOptions, readReceipts } from "../../src/client/receipts.ts";
import { waitUntil } from "../support/wait.ts";
import { answerStream, collect, type FakeStoa, refuse, type Shown, shownChain, startFake } from "./fake-stoa.ts";

const all = (options: ReadOptions) => collect(readReceipts(options));

describe("a stream that is read once", () => {
  it("gives each line as a receipt", async () => {
    const fake = await startFake(shownChain(3));
    const claims = await all({ url: `${fake.url}/`, from: 2 });
    const { seq, hash, prev_hash: prevHash, canonical, document } = fake.receipts[1];
    expect(claims[0]).toEqual({ seq, hash, prevHash, canonical, document });
    expect(claims.map((claim) => claim.seq)).toEqual([2, 3]);
    expect(fake.asked).toEqual(["/api/v1/house/receipts/stream?from=2"]);
  });

  it("stops the server when its reader stops", async () => {
    const fake = await startFake(shownChain(2));
    for await (const { seq } of readReceipts({ url: fake.url, follow: true })) {
      expect(fake.followers.size).toBe(1);
      if (seq === 2) break;
    }
    await waitUntil("the connection's end", () => fake.followers.size === 0);
  });

  const receipt = shownChain(1)[0];
  it.each<[string, (receipt: Shown) => unknown]>([
    ["is null", () => null],
    ["has a seq beyond 2^53", (each) => ({ ...each, seq: 2 ** 53 })],
    ["has an object for hash", (each) => ({ ...each, hash: {} })],
    ["has no canonical", ({ canonical: _, ...rest }) => rest],
  ])("is unusable if a line %s", async (_, distort) => {
    const fake = await startFake([distort(receipt)]);
    await expect(all({ url: fake.url })).rejects.toMatchObject({ name: "StoaError", kind: "unusable" });
  });

  it.each([
    ["that is no JSON", "<html>\n"],
    ["nested very deep", `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}\n`],
    ["that is too long", `"${"x".repeat(maxLineBytes)}"\n`],
    ["that is not UTF-8", Buffer.from([0x22, 0xfe, 0x22, 0x0a])],
  ])("is unusable with a line %s", async (_, bytes) => {
    const fake = await startFake([]);
    answerStream(fake, bytes);
    await expect(all({ url: fake.url })).rejects.toMatchObject({ name: "StoaError", kind: "unusable" });
  });

  it("keeps escape sequences out of messages", async () => {
    const fake = await startFake([]);
    answerStream(fake, `{"ok":false,"error":"internal","message":"\\u001b[2J\\u009b2J${"x".repeat(999)}"}\n`);
    const refusal = await all({ url: fake.url }).catch((error: Error) => error);
    expect(refusal).toMatchObject({ kind: "refused", code: "internal" });
    expect((refusal as Error).message).toMatch(/^the service says internal: \?\[2J\?2Jx{180,190}\.\.\.$/);
  });

  it.each([
    ["of a Stoa that is stopping", 503, '{"ok":false,"error":"unavailable","message":"Later."}', "unavailable"],
    ["of a Stoa that refuses", 400, '{"ok":false,"error":"bad_input","message":"No."}', "refused"],
    ["of a proxy", 502, "<html>Bad gateway</html>", "unavailable"],
    ["of something else", 404, "<html>Not found</html>", "unusable"],
    ["of something else, with JSON", 403, '{"error":"no"}', "unusable"],
  ])("reports the answer %s: %i", async (_, status, body, kind) => {
    const fake = await startFake([]);
    fake.intercept = (_, response) => !!response.writeHead(status).end(body);
    await expect(all({ url: fake.url })).rejects.toMatchObject({ name: "StoaError", kind });
  });

  it("reports a connection that is cut", async () => {
    const fake = await startFake([]);
    fake.intercept = (_, response) => {
      response.write(`${JSON.stringify(receipt)}\n`, () => fake.cut());
      return true;
    };
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { seq } of readReceipts({ url: fake.url })) seen.push(seq);
    })();
    await expect(reading).rejects.toMatchObject({ name: "StoaError", kind: "unreachable" });
    expect(seen).toEqual([1]);
  });

  it("reports a connection that is silent for too long", async () => {
    const fake = await startFake(shownChain(1));
    fake.intercept = (_, response) => !!response.write("{");
    await expect(all({ url: fake.url, silenceMs: 50 })).rejects.toMatchObject({ name: "StoaError", kind: "silent" });
  });

  it.each([
    ["sends empty lines for ever", false, 200, "\n"],
    ["sends a line for ever, byte by byte", false, 200, "x"],
    ["refuses for ever, byte by byte", true, 500, "x"],
  ])("reports a service that %s", async (_, follow, status, piece) => {
    const fake = await startFake([]);
    fake.intercept = (_, response) => {
      response.writeHead(status);
      const timer = setInterval(() => response.write(piece), 1);
      return !!response.once("close", () => clearInterval(timer));
    };
    await expect(all({ url: fake.url, follow, silenceMs: 300 })).rejects.toMatchObject({ kind: "silent" });
  });

  it("ends with the reason of the signal", async () => {
    const fake = await startFake(shownChain(1));
    const stop = new AbortController();
    const reason = new Error("enough");
    const reading = (async () => {
      for await (const _ of readReceipts({ url: fake.url, follow: true, signal: stop.signal })) stop.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
  });
});

describe("a stream that is followed", () => {
  async function follow(fake: FakeStoa, until: number, options: Partial<ReadOptions> = {}) {
    const seen: number[] = [];
    const interruptions: string[] = [];
    const onInterruption = (reason: string) => {
      interruptions.push(reason);
      fake.receipts = shownChain(Math.min(until, fake.receipts.length + 1));
    };
    for await (const { seq } of readReceipts({ url: fake.url, follow: true, onInterruption, ...options })) {
      seen.push(seq);
      if (seq === fake.receipts.length && seq < until) interrupt();
      if (seq === until) break;
    }
    return { seen, interruptions };
  }
  let interrupt: () => void;

  it("continues from the next seq after a cut, a clean end, and the last line of a service that stops", async () => {
    const fake = await startFake(shownChain(2));
    const ends = [
      () => fake.cut(),
      () => fake.followers.forEach((each) => void each.end()),
      () => fake.followers.forEach((each) => void each.end('{"ok":false,"error":"unavailable","message":"Stop."}\n')),
    ];
    interrupt = () => (ends.shift() as () => void)();
    const { seen, interruptions } = await follow(fake, 5);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(interruptions).toHaveLength(3);
    expect(interruptions.slice(1)).toEqual(["the stream ended", "the service says unavailable: Stop."]);
    const stream = (from: number) => `/api/v1/house/receipts/stream?from=${from}&follow=true`;
    expect(fake.asked).toEqual([1, 3, 4, 5].map(stream));
  });

  it("reconnects silently when the service ends it with a time to wait, and skips empty lines", async () => {
    const fake = await startFake(shownChain(2));
    const stream = readReceipts({ url: fake.url, follow: true, onInterruption: (reason) => expect.fail(reason) });
    await stream.next();
    await stream.next();
    const next = stream.next();
    await waitUntil("the follower", () => fake.followers.size === 1);
    fake.receipts = shownChain(3);
    const end = { ok: false, error: "unavailable", message: "Come again.", retry_after_seconds: 1 };
    for (const each of fake.followers) each.end(`\n\n${JSON.stringify(end)}\n`);
    expect(await next).toMatchObject({ value: { seq: 3 } });
    await stream.return();
  });

  it("reconnects silently after a connection without data", async () => {
    const fake = await startFake(shownChain(1));
    const seen: number[] = [];
    const interruptions: string[] = [];
    const onInterruption = (reason: string) => interruptions.push(reason);
    for await (const { seq } of readReceipts({ url: fake.url, follow: true, silenceMs: 30, onInterruption })) {
      seen.push(seq);
      if (seq === 2) break;
      // The open connection will never report it.
      fake.receipts = shownChain(2);
    }
    expect(seen).toEqual([1, 2]);
    expect(interruptions).toEqual([]);
  });

  it("waits as long as the service asks, and longer after each failure", async () => {
    const fake = await startFake(shownChain(1));
    const waits: number[] = [];
    const stop = new AbortController();
    fake.intercept = (path, response) => {
      if (path.includes("from=1")) return false;
      const busy = {
        error: "unavailable",
        message: "Busy.",
        ...(waits.length === 3 ? { retry_after_seconds: 60 } : {}),
      };
      refuse(response, 503, busy);
      return true;
    };
    const onInterruption = (_: string, waitMs: number) => {
      waits.push(waitMs);
      if (waitMs >= 60_000) stop.abort(new Error("seen enough"));
    };
    const reading = (async () => {
      for await (const _ of readReceipts({ url: fake.url, follow: true, onInterruption, signal: stop.signal }))
        fake.cut();
    })();
    await expect(reading).rejects.toThrow("seen enough");
    expect(waits).toHaveLength(4);
    for (const [index, wait] of waits.slice(0, 3).entries()) {
      expect(wait).toBeGreaterThanOrEqual(125 * 2 ** index);
      expect(wait).toBeLessThanOrEqual(250 * 2 ** index);
    }
    expect(waits[3]).toBe(60_000);
  });

  it("does not connect again to a service that has never answered", async () => {
    const fake = await startFake([]);
    fake.intercept = (_, response) => !!response.writeHead(503).end();
    await expect(all({ url: fake.url, follow: true })).rejects.toMatchObject({ kind: "unavailable" });
    expect(fake.asked).toHaveLength(1);
  });

  it("does not connect again after a permanent failure", async () => {
    const fake = await startFake(shownChain(1));
    const reading = (async () => {
      for await (const _ of readReceipts({ url: fake.url, follow: true })) {
        for (const each of fake.followers) each.end('{"ok":false,"error":"internal","message":"Broken."}\n');
      }
    })();
    await expect(reading).rejects.toMatchObject({ kind: "refused", code: "internal" });
    expect(fake.asked).toHaveLength(1);
  });
});
