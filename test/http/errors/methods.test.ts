// Wrong methods, unclear hosts, and writes by pages of other sites.
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { Agent, request } from "node:https";
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { AgentService } from "../../../gen/stoa/v1/agent_service_pb.js";
import { certificate } from "../../support/port.ts";
import { startService } from "../../support/service.ts";

const service = await startService();

it.each([
  ["HEAD", "/api/v1/house/receipts/stream", "GET, OPTIONS"],
  ["POST", "/api/v1/house/receipts/stream", "GET, OPTIONS"],
  ["OPTIONS", "/stoa.v1.LedgerService/StreamReceipts", "POST"],
])(
  "%s %s is 404, with the accepted methods, as the recorded replies show of all but streams",
  async (method, path, allow) => {
    const reply = await fetch(service.url + path, { method });
    expect([reply.status, reply.headers.get("allow")]).toEqual([404, allow]);
  },
);

it("a method that HTTP does not have is bad input over HTTP/2", async () => {
  const { status, body } = await overHttp2({ ":method": "brew".repeat(100), ":path": "/api/v1/feed" });
  expect([status, JSON.parse(body).error]).toEqual([400, "bad_input"]);
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

describe("the host of a request", () => {
  const host = () => new URL(service.url).host;
  it.each([
    ["that differ", () => [`Host: ${host()}`, "Host: elsewhere.example"]],
    ["that are the same", () => [`Host: ${host()}`, `host: ${host()}`]],
    ["of which one is empty", () => ["Host:", `Host: ${host()}`]],
  ])("may not be two %s", async (_, hosts) => {
    for (const path of ["/api/v1/feed", "/", "/nothing", "/stoa.v1.PostService/ListPosts"]) {
      const reply = await send([`GET ${path} HTTP/1.1`, ...hosts(), "Connection: close"]);
      expect(reply).toMatch(/^HTTP\/1\.1 400 /);
      expect(reply).toContain('"error":"bad_input"');
    }
  });

  // Ports end at 65535.
  it.each(["a", "localhost:9999", "a:65535", "[::1]:8080", "a:", "a_b"])("may be %j", async (name) => {
    expect(await send(["GET /api/v1/feed HTTP/1.1", `Host: ${name}`, "Connection: close"])).toMatch(/^HTTP\/1\.1 200 /);
  });

  it.each(["a b", "x@[::", "a:65536", "a:123456", "a:b"])("may not be %j", async (name) => {
    expect(await send(["GET /api/v1/feed HTTP/1.1", `Host: ${name}`, "Connection: close"])).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("may be named twice over HTTP/2, but only as the same", async () => {
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

  it("is accepted if the browser says that it is not", async () => {
    for (const site of ["same-origin", "same-site", "none"]) {
      const ask = { body: { name: `from-${site}` }, headers: { "sec-fetch-site": site } };
      expect((await service.rest("agents/register", ask)).status).toBe(201);
    }
  });

  it("does not prevent reading by that page", async () => {
    expect((await service.rest("feed", { headers: crossSite })).status).toBe(200);
  });
});

describe("Strict-Transport-Security", () => {
  const header = "strict-transport-security";
  // The recorded replies show it of a service behind a proxy with TLS.
  it("is not sent without TLS", async () => {
    expect((await fetch(`${service.url}/api/v1/feed`)).headers.get(header)).toBeNull();
  });

  it("is sent with every reply over TLS of our own", async () => {
    const { url } = await startService({ db: service.db, config: { tls: certificate } });
    const agent = new Agent({ rejectUnauthorized: false });
    for (const path of ["/api/v1/feed", "/nothing", "/healthz"]) {
      const [reply] = await once(request(url + path, { agent }).end(), "response");
      expect(reply.resume().headers[header]).toBe("max-age=31536000");
    }
    agent.destroy();
  });
});
