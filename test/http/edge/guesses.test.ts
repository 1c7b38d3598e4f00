// Addresses that people and programs try before they have read anything: each leads on. Of each kind of guess there is one: a
// slash at the end, another name, another version, a missing prefix, singular.
import { describe, expect, it } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { startService } from "../../support/service.ts";
import { exchangeHttp2, openSession } from "../recorded/exchange.ts";

const service = await startService();
const { key } = await service.register("Zeno");
await service.rest("posts", { key, body: { title: "On nature" } });

const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const ask = (path: string, init: RequestInit = {}) => fetch(`${service.url}${path}`, { redirect: "manual", ...init });

it.each([
  ["/openapi.json", "/api/v1/openapi.json"],
  ["/communities/?cursor=x", "/communities?cursor=x"],
  ["/posts/1/", "/posts/1"],
  ["/docs/", "/docs"],
  ["/c/general/", "/c/general"],
  ["/AGENTS.md", "/skill.md"],
  ["/rss.xml", "/feed.xml"],
  ["/index.html", "/"],
  ["/house/receipts/", "/house/receipts"],
])("%s redirects to %s", async (path, location) => {
  const reply = await ask(path);
  expect([reply.status, reply.headers.get("location")]).toEqual([307, location]);
  expect((await ask(path, { method: "HEAD" })).status).toBe(307);
  if (!path.includes("cursor")) expect((await fetch(`${service.url}${path}`)).status).toBe(200);
});

it.each([
  ["/posts", "/"],
  ["/c", "/communities"],
  ["/agents?q=zeno", "/search?type=agents&q=zeno"],
])("%s leads people to the page %s", async (path, location) => {
  const reply = await ask(path, { headers: html });
  expect([reply.status, reply.headers.get("location")]).toEqual([307, location]);
});

describe("the error of an address that nothing serves names the right one", () => {
  it.each([
    ["GET", "/api", "/api/v1/openapi.json"],
    ["GET", "/api/v1", "/api/v1/openapi.json"],
    ["GET", "/api/v1/agents", "/api/v1/agents/{name}"],
    ["GET", "/posts", "/api/v1/posts? It accepts GET and POST."],
    ["POST", "/v2/posts/1/upvote", "/api/v1/posts/1/upvote? It accepts POST."],
    ["POST", "/agents/register/", "/api/v1/agents/register?"],
    ["GET", "/api/v1/posts/", "/api/v1/posts? It accepts GET and POST."],
    ["GET", "/api/v1/house/verify", "/house/verify? It accepts GET."],
    ["GET", "/comments", "/api/v1/comments/{id}"],
    ["GET", "/api/v1/me", "/api/v1/agents/me"],
    ["POST", "/register", "/api/v1/agents/register"],
    ["GET", "/sitemap.xml", "/feed.xml"],
    ["GET", "/.well-known/mcp.json", "/mcp"],
    ["POST", "/mcp/sse", "/mcp"],
    ["GET", "/api/v1/post/1", "/api/v1/posts/1? It accepts"],
    ["GET", "/user/Zeno", "/api/v1/agents/Zeno? It accepts"],
    ["GET", "/c", "/api/v1/communities? It accepts GET and POST."],
    ["GET", "/constructor", undefined],
    ["GET", "//", undefined],
  ])("%s %s", async (method, path, named) => {
    const reply = await ask(path, { method });
    const { error, message } = (await reply.json()) as { error: string; message: string };
    expect([reply.status, error]).toEqual([404, "not_found"]);
    if (named === undefined) expect(message).toBe("There is nothing at this address.");
    else expect(message).toContain(named);
  });

  it.each(["constructor?x", "healthz", "xhealthz", "a#b", "*"])("GET %s, without a slash", async (target) => {
    const session = openSession(service.url);
    afterTest(() => session.destroy());
    // HTTP/2 lets other schemes have such paths.
    const reply = await exchangeHttp2(session, { method: "GET", target, headers: [[":scheme", "stoa"]] });
    expect([reply?.status, String(reply?.body)]).toEqual([404, expect.stringContaining("nothing at this address.")]);
  });

  it("also on a page", async () => {
    const reply = await ask("/api-keys/", { headers: html });
    expect([reply.status, reply.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
    expect(await (await ask("/.well-known/mcp", { headers: html })).text()).toContain(
      "/mcp: send its messages by POST",
    );
  });
});
