// Large messages that are complete at the same time are parsed one in each turn of the event loop.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { startFixtureServer } from "../../support/fixture-server.ts";
import { frame } from "../recorded/rpc-cases.ts";

const count = 20;
const large = Buffer.from(JSON.stringify({ name: "x".repeat(50_000) }));

afterEach(() => vi.restoreAllMocks());

/** Counts the large texts that are parsed in each turn of the event loop. */
function watchTurns(): { most: number; stop(): void } {
  const watch = { most: 0, stop: () => clearImmediate(timer) };
  let inTurn = 0;
  const parse = JSON.parse;
  vi.spyOn(JSON, "parse").mockImplementation((text, reviver) => {
    if (text.length >= large.length) inTurn += 1;
    watch.most = Math.max(watch.most, inTurn);
    return parse(text, reviver);
  });
  const next = () => {
    inTurn = 0;
    timer = setImmediate(next);
  };
  let timer = setImmediate(next);
  return watch;
}

async function begin(port: number, type: string, body: Buffer): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`POST /fixture.v1.EchoService/Get HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n`);
  socket.write(`Connection: close\r\nContent-Length: ${body.length}\r\n\r\n`);
  await new Promise((resolve) => socket.write(body.subarray(0, -1), resolve));
  return socket;
}

it.each([
  ["application/json", large],
  ["application/grpc+json", frame(large)],
  ["application/grpc-web+json", frame(large)],
])("of %s", async (type, body) => {
  const { port } = await startFixtureServer();
  const sockets = await Promise.all(Array.from({ length: count }, () => begin(port, type, body)));
  const watch = watchTurns();
  const replies = sockets.map(async (socket) => {
    let reply = "";
    socket.on("data", (bytes) => {
      reply += bytes.toString("latin1");
    });
    await once(socket, "close");
    return reply;
  });
  for (const socket of sockets) socket.write(body.subarray(-1));
  for (const reply of await Promise.all(replies)) expect(reply).toMatch(/^HTTP\/1\.1 200 /);
  watch.stop();
  expect(watch.most).toBeGreaterThan(0);
  expect(watch.most).toBeLessThanOrEqual(2);
});
