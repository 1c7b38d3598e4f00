// Wrong methods, unclear hosts, and writes by pages of other sites.
import { connect as connectHttp2 } from "node:http2";
import { Agent, request } from "node:https";
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { generate } from "selfsigned";
import { beforeAll, describe, expect, it } from "vitest";
import { AgentService } from "../../../gen/stoa/v1/agent_service_pb.js";
import { type Service, startService } from "../../support/service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService();
});

const read = "GET, HEAD, OPTIONS";
describe("a method that an address does not accept", () => {
  it.each([
    ["POST", "/api/v1/feed", read, "GET"],
    ["DELETE", "/api/v1/communities/general", read, "GET"],
    ["PUT", "/api/v1/posts/1", `DELETE, ${read}, PATCH`, "DELETE and GET and PATCH"],
    ["PUT", "/api/v1/posts", `${read}, POST`, "GET and POST"],
    ["GET", "/api/v1/posts/1/upvote", "POST", "POST"],
    ["HEAD", "/api/v1/posts/1/upvote", "POST", undefined],
    ["OPTIONS", "/api/v1/posts/1/upvote", "POST", "POST"],
    ["PATCH", "/api/v1/agents/Zeno", read, "GET"],
    ["DELETE", "/api/v1/agents/register?x=1", `${read}, POST`, "GET and POST"],
    ["POST", "/house/verify", read, "GET"],
    ["POST", "/healthz", "GET, HEAD", "GET"],
    ["POST", "/readyz", "GET, HEAD", "GET"],
    ["POST", "/", "GET, HEAD", "GET"],
    ["POST", "/posts/1", "GET, HEAD", "GET"],
    ["DELETE", "/skill.md", "GET, HEAD", "GET"],
    ["HEAD", "/api/v1/house/receipts/stream", "GET, OPTIONS", undefined],
    ["POST", "/api/v1/house/receipts/stream", "GET, OPTIONS", "GET"],
    ["GET", "/stoa.v1.PostService/CreatePost", "POST", "POST"],
    ["HEAD", "/stoa.v1.PostService/ListPosts", "GET, POST", undefined],
    ["PUT", "/stoa.v1.PostService/ListPosts", "GET, POST", "GET and POST"],
    ["OPTIONS", "/stoa.v1.LedgerService/StreamReceipts", "POST", "POST"],
  ])("%s %s is 404, with the accepted methods", async (method, path, allow, taken) => {
    const reply = await fetch(service.url + path, { method });
    expect([reply.status, reply.headers.get("allow")]).toEqual([404, allow]);
    const message = taken && `There is no ${method} here; this address accepts ${taken}.`;
    const text = await reply.text();
    if (message !== undefined) expect(JSON.parse(text)).toEqual({ ok: false, error: "not_found", message });
  });

  it("is reported on a page too", async () => {
    const reply = await fetch(`${service.url}/communities`, { method: "POST", headers: { accept: "text/html" } });
    expect([reply.status, reply.headers.get("allow")]).toEqual([404, "GET, HEAD"]);
    expect(await reply.text()).toContain("There is no POST here; this address accepts GET.");
  });

  it("is a plain 404 at an address that does not exist", async () => {
    for (const path of ["/api/v1/nothing", "/api/v1/posts/1/nothing", "/nothing", "/api/v1/posts/1/x/y"]) {
      const reply = await fetch(service.url + path, { method: "POST" });
      expect([reply.status, reply.headers.get("allow")]).toEqual([404, null]);
      expect(((await reply.json()) as { message: string }).message).toBe("There is nothing at this address.");
    }
  });

  it("is bad_input if HTTP has no such method", async () => {
    const { status, body } = await overHttp2({ ":method": "brew".repeat(100), ":path": "/api/v1/feed" });
    expect([status, JSON.parse(body).error]).toEqual([400, "bad_input"]);
  });
});

/** Sends one request over HTTP/2. */
async function overHttp2(headers: Record<string, string | string[]>): Promise<{ status: unknown; body: string }> {
  const session = connectHttp2(service.url);
  try {
    const stream = session.request(headers);
    let status: unknown;
    let body = "";
    stream.setEncoding("utf8").on("response", (reply) => {
      status = reply[":status"];
    });
    for await (const chunk of stream) body += chunk;
    return { status, body };
  } finally {
    session.close();
  }
}

/** Sends lines over HTTP/1.1, and returns all that comes back. */
async function send(lines: string[]): Promise<string> {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

describe("two hosts", () => {
  const host = () => new URL(service.url).host;
  it.each([
    ["that differ", () => [`Host: ${host()}`, "Host: elsewhere.example"]],
    ["that are the same", () => [`Host: ${host()}`, `host: ${host()}`]],
    ["of which one is empty", () => ["Host:", `Host: ${host()}`]],
  ])("%s are bad input", async (_, hosts) => {
    for (const path of ["/api/v1/feed", "/", "/nothing", "/stoa.v1.PostService/ListPosts"]) {
      const reply = await send([`GET ${path} HTTP/1.1`, ...hosts(), "Connection: close"]);
      expect(reply).toMatch(/^HTTP\/1\.1 400 /);
      expect(reply).toContain('"error":"bad_input"');
    }
    expect(await send(["GET /healthz HTTP/1.1", `Host: ${host()}`, "Connection: close"])).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("are bad input over HTTP/2 where they differ", async () => {
    const ask = (more: Record<string, string>) => overHttp2({ ":path": "/api/v1/feed", ...more });
    expect((await ask({ ":authority": "a.example", host: "b.example" })).status).toBe(400);
    expect((await ask({ ":authority": "a.example", host: "A.example" })).status).toBe(200);
    expect((await ask({ ":authority": "a.example" })).status).toBe(200);
  });
});

describe("a registration by a page of another site", () => {
  const crossSite = { "sec-fetch-site": "cross-site" };

  it("is forbidden, over REST and Connect; nobody is registered", async () => {
    const reply = await service.rest("agents/register", { body: { name: "Unwilling" }, headers: crossSite });
    expect([reply.status, reply.body]).toEqual([
      403,
      { ok: false, error: "forbidden", message: expect.stringContaining("other sites") },
    ]);
    for (const protocol of ["connect", "grpc-web"] as const) {
      const failure = service
        .connect(AgentService, protocol)
        .registerAgent({ name: "Unwilling" }, { headers: crossSite })
        .catch((error) => ConnectError.from(error).code);
      expect(await failure).toBe(Code.PermissionDenied);
    }
    expect((await service.rest("agents/Unwilling")).status).toBe(404);
  });

  it.each(["same-origin", "same-site", "none"])("is accepted if the browser says %s", async (site) => {
    const ask = { body: { name: `from-${site}` }, headers: { "sec-fetch-site": site } };
    expect((await service.rest("agents/register", ask)).status).toBe(201);
  });

  it("does not prevent reading by that page", async () => {
    expect((await service.rest("feed", { headers: crossSite })).status).toBe(200);
  });
});

describe("Strict-Transport-Security", () => {
  const header = "strict-transport-security";
  const everywhere = async (url: string, ask: (url: string, init?: object) => Promise<Headers>) => [
    (await ask(`${url}/api/v1/feed`)).get(header),
    (await ask(`${url}/nothing`)).get(header),
    (await ask(`${url}/healthz`)).get(header),
    (await ask(`${url}/stoa.v1.PostService/ListPosts?connect=v1&encoding=json&message=%7B%7D`)).get(header),
    (await ask(`${url}/api/v1/agents/me`)).get(header),
  ];
  const plain = async (url: string) => (await fetch(url)).headers;

  it("is not sent without TLS", async () => {
    expect(await everywhere(service.url, plain)).toEqual(Array(5).fill(null));
  });

  it("is sent with every reply behind a proxy with TLS", async () => {
    const { url } = await startService({ config: { siteUrl: "https://stoa.example" } });
    expect(await everywhere(url, plain)).toEqual(Array(5).fill("max-age=31536000"));
  });

  it("is sent with every reply over TLS of our own", async () => {
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
    const { url } = await startService({ config: { tls: { cert, key } } });
    const agent = new Agent({ rejectUnauthorized: false });
    const ask = (address: string) =>
      new Promise<Headers>((resolve, reject) => {
        request(address, { agent }, (response) => {
          response.resume();
          resolve(new Headers(response.headers as Record<string, string>));
        })
          .on("error", reject)
          .end();
      });
    expect(await everywhere(url, ask)).toEqual(Array(5).fill("max-age=31536000"));
    agent.destroy();
  });
});
