// Connections that are reset, and how often the streams of an HTTP/2 session may be.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { describe, expect, it } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import {
  connectFrames,
  END_HEADERS,
  field,
  frame,
  frameType,
  get as get2,
  rstStream,
} from "../../support/http2-frames.ts";
import { certificate, connect, connectHttp2, get, readStream, request, SOON, start } from "../../support/port.ts";

/** More than a client may reset at once. */
const RESETS = 1_000;

describe("a session whose streams are reset again and again", () => {
  it.each([
    ["goes on if it is that of a proxy, which passes on what many clients cancel", true],
    ["ends if it is that of a client", false],
  ])("%s", async (_what, isProxy) => {
    const connections = { maxConnections: 10, maxConnectionsPerAddress: 10, countAs: String, isProxy: () => isProxy };
    const { number } = await start({ connections });
    const session = connectHttp2(number);
    session.on("error", () => {});
    for (let resets = 0; resets < RESETS && !session.closed && !session.destroyed; resets++) {
      const stream = get(session, "/held");
      await new Promise(setImmediate);
      stream.close(8);
    }
    const isOpen = !session.closed && !session.destroyed && (await isServed(session));
    expect(isOpen).toBe(isProxy);
  });
});

describe("a connection that is reset before the reply", () => {
  const tunnel = "CONNECT stoa:443 HTTP/1.1\r\nHost: stoa\r\n\r\n";
  const upgrade = request("/version", "Connection: Upgrade", "Upgrade: websocket");
  it.each([
    ["a request", request("/version")],
    ["a request for a tunnel", tunnel],
    ["a request for a tunnel behind others", request("/version").repeat(2) + tunnel],
    ["a request for another protocol", upgrade],
    ["a request with an expectation", request("/version", "Expect: 100-continue")],
    ["a half head", request("/version").slice(0, -2)],
    ["no request", "garbage\r\n\r\n"],
  ])("ends alone: %s", async (_what, bytes) => {
    const faults = uncaughtFaults();
    const plain = await start();
    const secure = await start({ tls: certificate });
    for (let round = 0; round < 10; round++) {
      for (const { number, isSecure } of [
        { ...plain, isSecure: false },
        { ...secure, isSecure: true },
      ]) {
        const transport = net.connect(number, "127.0.0.1");
        const socket = isSecure ? tls.connect({ socket: transport, rejectUnauthorized: false }) : transport;
        socket.on("error", () => {});
        // The bytes and the reset are there when the service looks.
        socket.write(bytes, () => transport.resetAndDestroy());
        await once(transport, "close");
      }
    }
    const { socket, seen } = connect(plain.number);
    socket.write(request("/version"));
    await seen("}");
    expect(faults).toEqual([]);
  });
});

it("nothing is served to a connection that was reset before it was accepted", async () => {
  let served = 0;
  const { number } = await start({}, (app) => {
    app.addHook("onRequest", async () => {
      served += 1;
    });
  });
  const write = `socket.write(${JSON.stringify(request("/version"))}, () => socket.resetAndDestroy())`;
  const script = `const socket = require("node:net").connect(${number}, "127.0.0.1", () => ${write})`;
  // The port cannot accept while this runs.
  expect(spawnSync(process.execPath, ["-e", script]).status).toBe(0);
  const { socket, seen } = connect(number);
  socket.write(request("/version"));
  await seen("}");
  expect(served).toBe(1);
});

describe("a stream that is reset together with its request", () => {
  const expecting = (expect: string) => get2(1, "/version", { expect });
  const tunnel = Buffer.concat([field(":method", "CONNECT"), field(":authority", "stoa:443")]);
  it.each([
    ["a request", get2(1, "/version")],
    ["a request with an expectation", expecting("100-continue")],
    ["a request with an unknown expectation", expecting("a miracle")],
    ["a request for a tunnel", frame(frameType.headers, END_HEADERS, 1, tunnel)],
  ])("ends alone: %s", async (_what, bytes) => {
    const faults = uncaughtFaults();
    const { number } = await start();
    const { socket, received } = connectFrames(number);
    socket.write(Buffer.concat([bytes, rstStream(1, 8), get2(3, "/version")]));
    expect(await received(({ type, stream }) => type === frameType.data && stream === 3)).toBeDefined();
    expect(faults).toEqual([]);
  });
});

it("a session ends whose client says goodbye, breaks the protocol and leaves while its request runs", async () => {
  const { number, port, entered } = await start({ idleTimeoutMs: SOON });
  const { socket, received } = connectFrames(number);
  const isEntered = entered();
  socket.write(get2(1, "/held"));
  await isEntered;
  const goodbye = frame(frameType.goaway, 0, 0, Buffer.alloc(8));
  // The stream is half-closed, so there may be no more data on it.
  socket.write(Buffer.concat([goodbye, frame(frameType.data, 0, 1, Buffer.from("x"))]));
  await received(({ type, payload }) => type === frameType.goaway && payload.readUInt32BE(4) !== 0);
  socket.resetAndDestroy();
  await expect.poll(() => port.connections.total).toBe(0);
});

/** What no listener takes, from now until the end of the test. */
function uncaughtFaults(): unknown[] {
  const faults: unknown[] = [];
  const note = (error: unknown) => faults.push(error);
  process.on("uncaughtException", note);
  afterTest(() => void process.off("uncaughtException", note));
  return faults;
}

function isServed(session: ReturnType<typeof connectHttp2>): Promise<boolean> {
  return readStream(get(session, "/version")).then(
    () => true,
    () => false,
  );
}
