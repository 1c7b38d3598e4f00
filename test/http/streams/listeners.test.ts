import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { startService } from "../../support/service.ts";

const channel = "http.server.request.start";

/** The responses that servers of this process begin, until the test ends. */
function collectResponses(): ServerResponse[] {
  const responses: ServerResponse[] = [];
  const collect = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url?.startsWith("/api/") === true) responses.push(response);
  };
  subscribe(channel, collect);
  onTestFinished(() => void unsubscribe(channel, collect));
  return responses;
}

it.each(["application/x-ndjson", "text/event-stream"])(
  "a stream of %s stays below the number of listeners of which Node warns",
  async (accept) => {
    const service = await startService();
    const responses = collectResponses();
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on("warning", warn);
    onTestFinished(() => void process.off("warning", warn));

    // A request with a body has a listener more than one without.
    const headers = { accept, "content-length": "2" };
    const client = http.request(`${service.url}/api/v1/house/receipts/stream?follow=true`, { headers });
    client.end("{}");
    const [reply] = (await once(client, "response")) as [IncomingMessage];
    await once(reply, "data");
    const [response] = responses;
    expect(responses.length).toBe(1);
    expect(response?.listenerCount("close")).toBeLessThanOrEqual(EventEmitter.defaultMaxListeners - 1);
    client.destroy();
    expect(warnings.filter(({ name }) => name === "MaxListenersExceededWarning")).toEqual([]);
  },
);
