// npm run test:proxies: what each proxy sends again when a replica closes the connection without a reply.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { serveHttp } from "../support/http-server.ts";
import { ask } from "./client.ts";
import { proxyNames } from "./examples.ts";
import { startProxy } from "./proxy.ts";

/** How often a request came to a replica, other than for its readiness. */
let attempts = 0;
beforeEach(() => {
  attempts = 0;
});

/** Says that it is ready, and breaks every other request off: as a replica that is killed in the middle of it. */
async function startBreaking(): Promise<string> {
  const { url } = await serveHttp((request, response) => {
    if (request.url === "/readyz") return void response.end();
    attempts += 1;
    request.resume().once("end", () => request.socket.destroy());
  });
  return new URL(url).host;
}

describe.each(proxyNames)("%s", (name) => {
  let site: { port: number; ca: string };
  beforeAll(async () => {
    site = await startProxy(name, [await startBreaking(), await startBreaking()]);
  });

  it("sends a GET again", async () => {
    expect(await ask(site, "/api/v1/posts/1")).toMatchObject({ status: 503 });
    expect(attempts).toBeGreaterThan(1);
  });

  it.each(["POST", "PATCH", "DELETE"])("sends a %s once, also with an idempotency key", async (method) => {
    const headers = { "idempotency-key": "once" };
    const { status, text } = await ask(site, "/api/v1/posts/1", { method, headers, body: { title: "once" } });
    expect(status).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ ok: false, error: "unavailable" });
    expect(attempts).toBe(1);
  });
});
