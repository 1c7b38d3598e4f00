// What concerns one caller alone stays out of caches: by REST, and by GET over Connect.
import { describe, expect, it } from "vitest";
import { contractServices } from "../../../scripts/lib/contract.ts";
import { bindingsOf, isPublicRead } from "../../../src/contract/bindings.ts";
import { startService } from "../../support/service.ts";

const personal = "private, no-store";
const bindings = (await contractServices()).flatMap(bindingsOf);
/** A path of a binding, for an agent, a community or an item that there is. */
const pathOf = (template: string) => template.replaceAll("{name}", "general").replace(/\{\w+\}/g, "1");

const service = await startService();
const { key } = await service.register();
await service.rest("posts", { key, body: { title: "A post" } });
await service.rest("posts/1/comments", { key, body: { body: "A comment" } });

async function cacheControlOf(path: string, method: string, authorization?: string): Promise<[number, string | null]> {
  const headers = authorization === undefined ? {} : { authorization };
  const response = await fetch(service.url + path, { method, headers, ...(method === "GET" ? {} : { body: "{" }) });
  await response.body?.cancel();
  return [response.status, response.headers.get("cache-control")];
}

// The recorded replies show it of single ones; a call that is added to the contract is asked here.
it("a call that is not a public read leaves no trace in caches, whether it is refused or answers", async () => {
  for (const { httpMethod, template } of bindings.filter((binding) => !isPublicRead(binding))) {
    const [status, cacheControl] = await cacheControlOf(pathOf(template), httpMethod);
    expect([template, status, cacheControl]).toEqual([template, template.endsWith("/register") ? 400 : 401, personal]);
    if (httpMethod !== "GET") continue;
    const answered = await cacheControlOf(pathOf(template), httpMethod, `Bearer ${key}`);
    expect([template, ...answered]).toEqual([template, 200, personal]);
  }
});

describe("a GET over Connect", () => {
  it("is personal where the RPC is", async () => {
    const path = "/stoa.v1.AgentService/GetMe?connect=v1&encoding=json&message=%7B%7D";
    expect(await cacheControlOf(path, "GET", `Bearer ${key}`)).toEqual([200, personal]);
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
});
