// Where the metrics are read: at a port of their own, or with a token at the public one.
import { connect } from "node:net";
import { expect, it } from "vitest";
import { startLimited } from "../support/limited.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
const service = await startService({ config: { metrics } });
const { db } = service;

const token = "an-example-of-32-characters-or-more";
const ask = (url: string, init: RequestInit = {}) => fetch(url, init).then(({ status }) => status);

it("the listener answers GET and HEAD of /metrics, and nothing else", async () => {
  const url = service.app.metricsUrl as string;
  expect(await ask(url, { method: "HEAD" })).toBe(200);
  expect(await ask(`${url}?a=b`)).toBe(200);
  const post = await fetch(url, { method: "POST", body: "x" });
  expect([post.status, post.headers.get("allow")]).toEqual([404, "GET, HEAD"]);
  expect(await post.json()).toMatchObject({ ok: false, error: "not_found" });
  for (const path of ["/", "/healthz", "/api/v1/feed", "/metricsx"])
    expect(await ask(new URL(path, url).href)).toBe(404);
});

it("the listener is the only source of the metrics without a token", async () => {
  const reply = await service.rest("/metrics");
  expect([reply.status, reply.body.error]).toEqual([404, "not_found"]);
  expect((await service.rest("/metrics", { key: token })).status).toBe(404);
});

it("the listener is joined by the public port if a token is set, which counts wrong tokens and always accepts the right one", async () => {
  const { url, app } = await startLimited(
    { refusals: { calls: 4, windowSeconds: 60 } },
    { db, config: { metrics: { ...metrics, port: undefined, token } } },
  );
  expect(app.metricsUrl).toBeUndefined();
  const get = (authorization?: string) =>
    fetch(`${url}/metrics`, { headers: authorization === undefined ? {} : { authorization } });
  for (const wrong of [undefined, `Bearer ${token}x`, `Basic ${token}`, "Bearer "]) {
    const reply = await get(wrong);
    expect([reply.status, reply.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await reply.json()).toMatchObject({ ok: false, error: "unauthorized" });
  }
  expect((await get("Bearer wrong")).status).toBe(429);
  const reply = await get(`Bearer ${token}`);
  expect(reply.status).toBe(200);
  expect(await reply.text()).toContain("stoa_ledger_head_seq 1");
});

it("the listener fails the start if its port is in use, unless that is the default port", async () => {
  const taken = Number(new URL(service.app.metricsUrl as string).port);
  const at = (isDefault: boolean) => ({ ...metrics, port: { number: taken, isDefault } });
  await expect(startService({ db, config: { metrics: at(false) } })).rejects.toThrow(
    `port ${taken} of 127.0.0.1 is in use by another program; stop it or set STOA_METRICS_PORT to another port or none`,
  );
  const other = await startService({ db, config: { metrics: at(true) } });
  expect(other.app.metricsUrl).toBeUndefined();
  expect(other.log.map(({ msg }) => msg)).toContainEqual(expect.stringContaining("set STOA_METRICS_PORT"));
  expect((await other.rest("/healthz")).status).toBe(200);
});

it("the listener closes with the service, and limits its connections", async () => {
  const url = new URL(service.app.metricsUrl as string);
  const sockets = Array.from({ length: 64 }, () => connect(Number(url.port), url.hostname).on("error", () => {}));
  const open = () => sockets.filter(({ closed }) => !closed).length;
  await waitUntil("connections over the bound to be closed", () => open() === 32);
  await service.app.close();
  await waitUntil("all connections to be closed", () => open() === 0);
  await expect(fetch(url)).rejects.toThrow();
});
