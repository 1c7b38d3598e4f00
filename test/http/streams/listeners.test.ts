import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { type Service, startService } from "../../support/service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService();
});

it.each(["application/x-ndjson", "text/event-stream"])(
  "a stream of %s has no more listeners than Node expects",
  async (accept) => {
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
    client.destroy();
    expect(warnings.filter(({ name }) => name === "MaxListenersExceededWarning")).toEqual([]);
  },
);
