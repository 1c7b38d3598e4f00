import { EventEmitter, once } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConnectError } from "@connectrpc/connect";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { RequestContext } from "../../src/calls/context.ts";
import { unlimitedRequest } from "../../src/rate-limits/request-limits.ts";

/** Begins a request over HTTP/1.1. @returns its context on the server, and the client's side */
async function beginRequest() {
  const server = http.createServer().listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const client = http.get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  client.on("error", () => {});
  const [request, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
  const address = { address: "127.0.0.1", counted: "127.0.0.1" };
  const log = pino({ level: "silent" });
  const context = new RequestContext({ request, response, id: "1", log, client: address, limits: unlimitedRequest });
  return { context, response, client };
}

it("a client that disconnects aborts the signal before the actions at the end of the response run", async () => {
  const { context, response, client } = await beginRequest();
  const { signal } = context;
  const seen: boolean[] = [];
  context.onEnd(() => seen.push(signal.aborted));
  client.destroy();
  await once(response, "close");
  expect(seen).toEqual([true]);
  expect(signal.reason).toBeInstanceOf(ConnectError);
});

it("a request that is aborted before anybody has asked for its signal has an aborted one", async () => {
  const { context } = await beginRequest();
  const reason = new Error("no room");
  context.abort(reason);
  expect(context.signal.aborted).toBe(true);
  expect(context.signal.reason).toBe(reason);
});

it("a complete response runs the actions and does not abort the signal", async () => {
  const { context, response } = await beginRequest();
  const seen: string[] = [];
  context.onEnd(() => seen.push("first"));
  const { signal } = context;
  context.onEnd(() => seen.push("second"));
  response.end("done");
  await once(response, "close");
  expect(seen).toEqual(["first", "second"]);
  expect(signal.aborted).toBe(false);
});

it("the signal and all actions share one listener on the response", async () => {
  const { context, response } = await beginRequest();
  const before = response.listenerCount("close");
  expect(context.signal).toBe(context.signal);
  for (let count = 0; count < 2 * EventEmitter.defaultMaxListeners; count++) context.onEnd(() => {});
  expect(response.listenerCount("close")).toBe(before + 1);
});

it("a response has no listener if neither the signal nor an action needs one", async () => {
  const { context, response } = await beginRequest();
  const before = response.listenerCount("close");
  context.abort(new Error("nobody asked for the signal"));
  expect(response.listenerCount("close")).toBe(before);
});
