// Streams without number and without end: watches of health, followers of receipts, reflection. mixed.test.ts has followers over
// HTTP/1.1.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { afterEach, beforeAll, expect, it } from "vitest";
import { fill } from "../ledger/support.ts";
import { envelope } from "../support/http2-frames.ts";
import { startVictim, type Victim } from "./support.ts";

const watch = "/grpc.health.v1.Health/Watch";
const receipts = "/stoa.v1.LedgerService/StreamReceipts";
const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const alpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

/** Follows receipts from the first on. */
const followAll = Buffer.from([0x10, 1]);
/** Asks for the services. */
const listServices = Buffer.from([0x3a, 0]);

let victim: Victim;
let open: ClientHttp2Session[] = [];

beforeAll(async () => {
  victim = await startVictim();
  await fill(victim.db, 60, 4_000);
});

afterEach(() => {
  for (const each of open) each.destroy();
  open = [];
});

/** @param window how many bytes the server may send on a stream */
function session(window = 65_535): ClientHttp2Session {
  const created = connect(victim.url, { settings: { initialWindowSize: window } });
  created.on("error", () => {});
  open.push(created);
  return created;
}

/** Begins a call; it is not ended where more messages may follow. */
function call(
  on: ClientHttp2Session,
  path: string,
  message: Buffer,
  { type = "application/grpc", ended = true, read = true } = {},
): ClientHttp2Stream {
  const stream = on.request({ ":method": "POST", ":path": path, "content-type": type, te: "trailers" });
  stream.on("error", () => {});
  if (read) stream.resume();
  stream.write(envelope(message));
  if (ended) stream.end();
  return stream;
}

/** Resolves with the gRPC status of a stream that ends, and undefined for one that begins and goes on. */
function outcome(stream: ClientHttp2Stream): Promise<string | undefined> {
  return new Promise((resolve) => {
    stream.once("response", (headers) => {
      if (headers["grpc-status"] !== undefined) resolve(String(headers["grpc-status"]));
    });
    stream.once("trailers", (trailers) => resolve(String(trailers["grpc-status"])));
    stream.once("data", () => resolve(undefined));
    stream.once("close", () => resolve(stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? "not begun" : "closed"));
  });
}

it("the service survives 5,250 health watches over many connections", async () => {
  const outcomes = await victim.during(async () => {
    const all: (string | undefined)[] = [];
    for (let connection = 0; connection < 35; connection++) {
      const on = session();
      const streams = Array.from({ length: 150 }, () => call(on, watch, Buffer.alloc(0)));
      all.push(...(await Promise.all(streams.map(outcome))));
    }
    return all;
  });
  expect(outcomes.filter((each) => each === undefined).length).toBe(256);
  // What a client sends before it knows how many streams it may open at a time is not begun, so that it may send it again.
  expect(outcomes.filter((each) => each === "8" || each === "not begun").length).toBe(5_250 - 256);
});

it("the service survives 300 watches of services with names of 250 KB, and of the longest names", async () => {
  const name = (length: number) =>
    Buffer.concat([
      Buffer.from([0x0a, 0x80 | (length & 127), 0x80 | ((length >> 7) & 127), length >> 14]),
      Buffer.alloc(length, 97),
    ]);
  await victim.during(async () => {
    for (const length of [250_000, 257, 256]) {
      for (let connection = 0; connection < 3; connection++) {
        const on = session();
        const streams = Array.from({ length: 100 }, () => call(on, watch, name(length)));
        await Promise.all(streams.map(outcome));
        on.destroy();
      }
    }
  });
});

it.each([
  ["gRPC", "application/grpc"],
  ["gRPC-Web", "application/grpc-web"],
  ["Connect", "application/connect+proto"],
])("the service survives followers over %s, some of which read nothing", async (_, type) => {
  await victim.during(async () => {
    for (let connection = 0; connection < 4; connection++) {
      const isReading = connection % 2 === 0;
      const on = session(isReading ? undefined : 0);
      const streams = Array.from({ length: 120 }, () => call(on, receipts, followAll, { type, read: isReading }));
      if (isReading) await Promise.all(streams.map(outcome));
      else await new Promise((resolve) => streams[0]?.once("response", resolve).once("close", resolve));
    }
  });
});

it("the service survives silent reflection streams, and others with endless requests", async () => {
  await victim.during(async () => {
    for (const path of [reflection, alpha]) {
      for (let connection = 0; connection < 4; connection++) {
        const on = session();
        const streams = Array.from({ length: 100 }, () => call(on, path, listServices, { ended: false }));
        await Promise.all(streams.map(outcome));
      }
    }
    for (const each of open) each.destroy();
    const on = session();
    const asking = call(on, reflection, listServices, { ended: false });
    const ended = new Promise((resolve) => asking.once("close", resolve));
    const many = Buffer.concat(Array.from({ length: 2_000 }, () => envelope(listServices)));
    asking.write(many);
    await Promise.race([ended, new Promise((resolve) => asking.once("trailers", resolve))]);
  });
});

it("the service survives streams that are opened and abandoned at once", async () => {
  await victim.during(async () => {
    for (let round = 0; round < 40; round++) {
      const on = session();
      for (const path of [watch, receipts, reflection]) {
        for (let count = 0; count < 20; count++) {
          const stream = call(on, path, path === receipts ? followAll : Buffer.alloc(0));
          setImmediate(() => stream.close());
        }
      }
      await new Promise((resolve) => setImmediate(resolve));
      on.destroy();
    }
  });
});

it("after all these streams every place is free", async () => {
  const outcomes = await victim.during(async () => {
    const on = session();
    return Promise.all(Array.from({ length: 100 }, () => outcome(call(on, watch, Buffer.alloc(0)))));
  });
  expect(outcomes.every((each) => each === undefined)).toBe(true);
});
