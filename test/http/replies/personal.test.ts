// What concerns one caller alone stays out of caches: by REST, and by GET over Connect.
import { beforeAll, describe, expect, it } from "vitest";
import { contractServices } from "../../../scripts/lib/contract.ts";
import { bindingsOf, isPublicRead } from "../../../src/contract/bindings.ts";
import { type Service, startService } from "../../support/service.ts";

const personal = "private, no-store";
const bindings = (await contractServices()).flatMap(bindingsOf);
/** A path of a binding, for an agent, a community or an item that there is. */
const pathOf = (template: string) => template.replaceAll("{name}", "general").replace(/\{\w+\}/g, "1");

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  ({ key } = await service.register());
  await service.rest("posts", { key, body: { title: "A post" } });
  await service.rest("posts/1/comments", { key, body: { body: "A comment" } });
});

async function cacheControlOf(path: string, method: string, authorization?: string): Promise<[number, string | null]> {
  const headers = authorization === undefined ? {} : { authorization };
  const response = await fetch(service.url + path, { method, headers, ...(method === "GET" ? {} : { body: "{" }) });
  await response.body?.cancel();
  return [response.status, response.headers.get("cache-control")];
}

describe("a call that is not a public read", () => {
  const calls = bindings
    .filter((binding) => !isPublicRead(binding))
    .map(({ httpMethod, template }) => [httpMethod, template] as const);

  it.each(calls)("%s %s refuses without a trace in caches", async (method, template) => {
    const [status, cacheControl] = await cacheControlOf(pathOf(template), method);
    expect(status).toBe(template.endsWith("/register") ? 400 : 401);
    expect(cacheControl).toBe(personal);
  });

  it.each(calls.filter(([method]) => method === "GET"))("%s %s answers without one", async (method, template) => {
    expect(await cacheControlOf(pathOf(template), method, `Bearer ${key}`)).toEqual([200, personal]);
  });
});

it("a new API key and a write stay out of caches", async () => {
  const registered = await service.rest("agents/register", { body: { name: "Kleanthes" } });
  expect([registered.status, registered.headers.get("cache-control")]).toEqual([201, personal]);
  const written = await service.rest("posts", { key: registered.body.api_key, body: { title: "Another post" } });
  expect([written.status, written.headers.get("cache-control")]).toEqual([201, personal]);
});

it("a public read may be kept, and is asked for again, also with a key", async () => {
  for (const authorization of [undefined, `Bearer ${key}`]) {
    expect(await cacheControlOf("/api/v1/posts/1", "GET", authorization)).toEqual([200, "no-cache"]);
  }
});

describe("a GET over Connect", () => {
  it.each([
    ["AgentService/GetMe", "{}", personal],
    ["PostService/GetPost", '{"id":1}', null],
  ])("%s", async (rpc, message, cacheControl) => {
    const path = `/stoa.v1.${rpc}?connect=v1&encoding=json&message=${encodeURIComponent(message)}`;
    expect(await cacheControlOf(path, "GET", `Bearer ${key}`)).toEqual([200, cacheControl]);
  });

  it("that may be kept for ever says when its form depends on what the client accepts", async () => {
    const path = "/stoa.v1.LedgerService/GetReceipt?connect=v1&encoding=json&message=%7B%22seq%22%3A1%7D";
    const { headers } = await fetch(service.url + path, { headers: { "accept-encoding": "gzip" } });
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-encoding": "gzip",
      vary: "accept-encoding",
    });
  });

  it("that is refused", async () => {
    const path = "/stoa.v1.AgentService/GetMe?connect=v1&encoding=json&message=%7B%7D";
    expect(await cacheControlOf(path, "GET")).toEqual([401, personal]);
  });
});
