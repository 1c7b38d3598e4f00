// Floods of requests, of header fields, and of replies that nobody reads.
import { Agent } from "node:https";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../client.ts";
import { type Attack, clientAddress, connectTls, count, keepOpen } from "./target.ts";

/** Complete requests from 60 addresses, as many as are answered. */
export const requestFlood: Attack = async (target) => {
  const swinging = Promise.withResolvers<void>();
  const send = async (n: number) => {
    const options = { agent: new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false }) };
    for (;;) {
      const path = n % 2 === 0 ? "/api/v1/feed?limit=5" : "/";
      const reply = ask({ port: target.port, ca: "" }, path, { ...options, localAddress: clientAddress(n) });
      const { status } = await reply.catch(() => ({ status: "no reply" }));
      if (count(target, `replies ${status}`) >= 2_000) swinging.resolve();
    }
  };
  for (let n = 0; n < 60; n++) for (let each = 0; each < 4; each++) void send(n);
  await swinging.promise;
};

/** Pipelined requests for large replies, of which nothing is read. They do not begin all at once: that would be a flood. */
export const unreadReplies: Attack = (target) =>
  keepOpen(
    300,
    (n) => connectTls(target, clientAddress(n % 20), "http/1.1"),
    (socket) => {
      socket.pause();
      count(target, "connections that do not read");
      socket.write("GET /api/v1/feed?limit=20 HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20));
      return sleep(50);
    },
    5,
  );

/** Heads without end, as quickly as they are taken, and complete ones with a thousand fields. */
export const headerFlood: Attack = (target) =>
  keepOpen(
    40,
    (n) => connectTls(target, clientAddress(n), "http/1.1"),
    (socket, n) => {
      const start = "GET / HTTP/1.1\r\nHost: localhost\r\n";
      const fields = Array.from({ length: 1_000 }, (_, each) => `X-${each}: ${each}\r\n`).join("");
      if (n % 2 === 0)
        return void socket.write(`${start}${fields}\r\n`, () => void count(target, "heads of 1,000 fields"));
      socket.write(start);
      pour(socket, () => {
        count(target, "further fields, in thousands");
        return fields;
      });
    },
  );

/** Writes as long as the connection takes it. */
export function pour(socket: Socket, part: () => string | Buffer): void {
  const more = () => {
    if (!socket.destroyed && !socket.writableEnded) socket.write(part(), () => setImmediate(more));
  };
  more();
}
