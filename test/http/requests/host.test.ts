import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { hasGoodHost } from "../../../src/http/requests/head.ts";

function request(host: string): IncomingMessage {
  return { headers: { host }, rawHeaders: ["Host", host], httpVersion: "1.1" } as IncomingMessage;
}

it.each(["a", "127.0.0.1:1", "localhost:9999", "stoa.example:59999", "a:60000", "a:65535", "[::1]:8080", "a:", "a_b"])(
  "%j is a host",
  (host) => expect(hasGoodHost(request(host))).toBe(true),
);

it.each(["", "a b", "x@[::", "a:65536", "a:99999", "a:123456", "a:b"])("%j is none", (host) =>
  expect(hasGoodHost(request(host))).toBe(false),
);
