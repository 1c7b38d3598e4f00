// Traces over every protocol, as a collector receives them.
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, it, vi } from "vitest";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { serveHttp } from "../support/http-server.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  status: { code?: number; message?: string };
  /** 2: of a server; 1: internal. */
  kind: number;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

const spans: Span[] = [];
const resources = new Set<string>();
/** A caller's trace and span. */
let callers = 0;

const collector = await serveHttp(async (request, response) => {
  const { resourceSpans } = JSON.parse((await request.setEncoding("utf8").toArray()).join(""));
  for (const { resource, scopeSpans } of request.url === "/v1/traces" ? resourceSpans : []) {
    for (const { key, value } of resource.attributes) resources.add(`${key}=${value.stringValue}`);
    for (const scope of scopeSpans) spans.push(...scope.spans);
  }
  response.setHeader("content-type", "application/json").end("{}");
});
vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "20");
const tracesUrl = `${collector.url}/v1/traces`;
const service = await startService({
  config: { tracesUrl, traceResource: { "service.name": "porch", team: "stoics" } },
});
const agent = await service.register();
const postId: number = (await service.rest("posts", { key: agent.key, body: { title: "traced" } })).body.post.id;

const newCaller = () => {
  callers += 1;
  const traceId = callers.toString(16).padStart(32, "a");
  const spanId = callers.toString(16).padStart(16, "b");
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
};
type Caller = ReturnType<typeof newCaller>;

async function spansOf({ traceId }: Caller, count: number): Promise<Span[]> {
  const found = () => spans.filter((span) => span.traceId === traceId);
  await waitUntil(`${count} spans of ${traceId}`, () => found().length >= count);
  return found();
}
const attributesOf = ({ attributes }: Span): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
const attribute = (span: Span, name: string) => attributesOf(span)[name];
/** The first span of a caller's trace. */
const spanOf = async (caller: Caller) => (await spansOf(caller, 1))[0] as Span;

const overConnect =
  (make: typeof createConnectTransport, options: object = {}) =>
  async ({ headers }: Caller) => {
    const transport = make({ baseUrl: service.url, httpVersion: "1.1", ...options });
    let answered = "";
    await createClient(PostService, transport).getPost(
      { id: BigInt(postId) },
      {
        headers,
        onHeader: (received) => {
          answered = received.get("traceresponse") ?? "";
        },
      },
    );
    return answered;
  };
const overMcp = async ({ headers }: Caller) => {
  const params = { name: "get_post", arguments: { id: postId } };
  const response = await fetch(`${service.url}/mcp`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  await response.text();
  return response.headers.get("traceresponse") ?? "";
};

describe("a call", () => {
  const method = "stoa.v1.PostService/GetPost";
  const network = (version: string) => ({ "network.protocol.name": "http", "network.protocol.version": version });
  const grpc = { "rpc.system.name": "grpc", "rpc.status_code": "OK" };

  it.each<[string, (caller: Caller) => Promise<string>, string, number, object]>([
    [
      "REST",
      async ({ headers }) =>
        (await service.rest(`posts/${postId}?sort=new`, { headers })).headers.get("traceresponse") ?? "",
      "GET /api/v1/posts/{id}",
      2,
      {
        "http.request.method": "GET",
        "http.route": "/api/v1/posts/{id}",
        "http.response.status_code": 200,
        "url.path": "/api/v1/posts/1",
        "url.scheme": "http",
        ...network("1.1"),
      },
    ],
    ["Connect", overConnect(createConnectTransport), method, 2, { "rpc.system.name": "connectrpc", ...network("1.1") }],
    ["gRPC-Web", overConnect(createGrpcWebTransport as never), method, 2, { ...grpc, ...network("1.1") }],
    ["gRPC", overConnect(createGrpcTransport as never, { httpVersion: "2" }), method, 2, { ...grpc, ...network("2") }],
    ["MCP", overMcp, method, 1, {}],
  ])("is a span of the caller's trace, and the response names it: %s", async (_, callBy, name, kind, attributes) => {
    const caller = newCaller();
    const answered = await callBy(caller);
    const span = await spanOf(caller);
    expect(span).toMatchObject({ name, kind, parentSpanId: caller.spanId });
    expect(attributesOf(span)).toEqual({ ...attributes, "rpc.method": method, "stoa.outcome": "ok" });
    expect(answered).toBe(`00-${caller.traceId}-${span.spanId}-01`);
    expect([...resources]).toEqual(expect.arrayContaining(["service.name=porch", "team=stoics"]));
  });

  it("has the transaction of a write within it, and the log line has the trace", async () => {
    const caller = newCaller();
    const headers = { ...caller.headers, "x-request-id": "traced-write" };
    await service.rest("posts", { key: agent.key, body: { title: "another" }, headers });
    const found = await spansOf(caller, 2);
    const call = found.find(({ name }) => name === "POST /api/v1/posts");
    expect(found.find(({ name }) => name === "transaction")?.parentSpanId).toBe(call?.spanId);
    const line = () => service.log.find(({ reqId, msg }) => reqId === "traced-write" && msg === "request");
    await waitUntil("the line", () => line() !== undefined);
    expect(line()).toMatchObject({ traceId: caller.traceId });
  });

  it("that is refused has its code, and is no failure of the service", async () => {
    const caller = newCaller();
    await service.rest("posts/999999", { headers: caller.headers });
    const span = await spanOf(caller);
    expect(attribute(span, "stoa.outcome")).toBe("not_found");
    expect(attribute(span, "http.response.status_code")).toBe(404);
    expect(attribute(span, "error.type")).toBeUndefined();
    expect(span.status.code ?? 0).toBe(0);
  });

  it("shows no key that is in an address by mistake", async () => {
    const caller = newCaller();
    await service.rest(`agents/${agent.key}`, { headers: caller.headers });
    const span = await spanOf(caller);
    expect(attribute(span, "url.path")).toBe("/api/v1/agents/…");
  });

  it("that streams is a span until the stream ends", async () => {
    const caller = newCaller();
    const transport = createGrpcTransport({ baseUrl: service.url });
    const controller = new AbortController();
    const { signal } = controller;
    const stream = createClient(LedgerService, transport).streamReceipts({ follow: true }, { ...caller, signal });
    await expect(
      (async () => {
        for await (const { receipt } of stream) if (receipt) controller.abort();
      })(),
    ).rejects.toThrow();
    const span = await spanOf(caller);
    expect(span).toMatchObject({ name: "stoa.v1.LedgerService/StreamReceipts", parentSpanId: caller.spanId });
    expect(attribute(span, "stoa.outcome")).toBe("canceled");
    expect(attribute(span, "rpc.status_code")).toBe("CANCELLED");
  });

  it.each([
    ["a message that cannot be read", { "x-a": "b" }, "bad_input"],
    ["a timeout that cannot be read", { "grpc-timeout": "soon" }, "bad_input"],
  ])("that streams and is refused for %s is a span that ends, and no failure of the service", async (_, sent, code) => {
    const caller = newCaller();
    const body = Buffer.from([0, 0, 0, 0, 1, 0xff]);
    const headers = { ...caller.headers, ...sent, "content-type": "application/grpc-web+proto" } as Record<
      string,
      string
    >;
    const url = `${service.url}/stoa.v1.LedgerService/StreamReceipts`;
    await (await fetch(url, { method: "POST", headers, body })).arrayBuffer();
    const span = await spanOf(caller);
    expect(span).toMatchObject({ name: "stoa.v1.LedgerService/StreamReceipts", parentSpanId: caller.spanId });
    expect(attribute(span, "stoa.outcome")).toBe(code);
    expect(span.status.code ?? 0).toBe(0);
  });

  it.each(["00-zz-bb-01", `00-${"0".repeat(32)}-${"b".repeat(16)}-01`, "x".repeat(5000)])(
    "begins a trace of its own where traceparent is not valid: %j",
    async (traceparent) => {
      const { headers, status } = await service.rest(`posts/${postId}`, { headers: { traceparent } });
      expect(status).toBe(200);
      expect(headers.get("traceresponse")).toMatch(/^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    },
  );
});

it("a receipt that is sealed is a span within its transaction", async () => {
  // The start has sealed the first one.
  const sealing = () => spans.find(({ name }) => name === "seal a receipt");
  await waitUntil("its span", () => sealing() !== undefined);
  const above = () => spans.find(({ spanId }) => spanId === sealing()?.parentSpanId);
  await waitUntil("its transaction", () => above() !== undefined);
  expect(above()?.name).toBe("transaction");
});

it("a service without a collector makes no spans and sends no header", async () => {
  // Tracing belongs to the process, so the traced service ends first.
  await service.app.close();
  const untraced = await startService({ db: service.db });
  const caller = newCaller();
  const { headers } = await untraced.rest("feed", { headers: caller.headers });
  expect(headers.get("traceresponse")).toBeNull();
  await untraced.app.close();
  expect(spans.filter(({ traceId }) => traceId === caller.traceId)).toEqual([]);
});
