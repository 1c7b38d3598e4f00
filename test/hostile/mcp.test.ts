// Messages of MCP that are deep, large, compressed, in batches or with odd headers.
import { brotliCompressSync } from "node:zlib";
import { beforeAll, describe, it } from "vitest";
import { type Ask, encodings, flood } from "./requests.ts";
import { startVictim, type Victim } from "./support.ts";

const accept = "application/json, text/event-stream";
const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
const rpc = (method: string, params: string) => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
const call = (name: string, given: string) => rpc("tools/call", `{"name":"${name}","arguments":${given}}`);
const list = rpc("tools/list", "{}");
const initialize = rpc(
  "initialize",
  '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}',
);

const bodies = [
  list,
  initialize,
  deep,
  `{"a":${deep}}`,
  rpc("tools/call", deep),
  call("list_posts", deep),
  call("search", `{"q":"${"a\u0300".repeat(100)}"}`),
  call("search", `{"q":"${"x".repeat(200_000)}"}`),
  call("create_post", `{"title":${JSON.stringify(Array.from({ length: 9_000 }, () => 1))}}`),
  call("get_post", `{"id":${"9".repeat(200_000)}}`),
  call("x".repeat(200_000), "{}"),
  rpc("resources/read", `{"uri":"stoa://posts/${"%2e".repeat(50_000)}"}`),
  rpc(
    "tools/list",
    `{"_meta":${JSON.stringify(Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`k${i}`, i])))}}`,
  ),
  rpc("tools/list", `{"_meta":{"__proto__":{"x":1},"constructor":{}},"cursor":"${"x".repeat(100_000)}"}`),
  `[${Array.from({ length: 1_000 }, () => list).join(",")}]`,
  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
  `{"jsonrpc":"2.0","id":${JSON.stringify("i".repeat(200_000))},"method":"ping"}`,
  `{"jsonrpc":"2.0","id":1,"result":{}}`,
  "null",
  "\ufeff{}",
  `"${"\\u0000".repeat(40_000)}"`,
];
const oddHeaders: Record<string, string>[] = [
  { "mcp-session-id": "x".repeat(4_000) },
  { "mcp-protocol-version": "9".repeat(4_000) },
  { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "x".repeat(4_000) },
  { "last-event-id": "9".repeat(8_000) },
  { accept: "text/event-stream" },
  { accept: `${"a/b;q=0.1,".repeat(900)}*/*` },
  { origin: "http://evil.invalid" },
  { "content-type": `multipart/form-data; boundary=${"-".repeat(4_000)}` },
];

let victim: Victim;

describe("the service survives messages of MCP", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    victim = await startVictim();
  }, 60_000);

  const attack = (asks: readonly Ask[]) => flood(victim, asks, [202, 204, 401, 405, 406, 415]);

  it.each([
    ["with a key", true],
    ["without one", false],
  ])("that are deep, large, compressed or in batches, %s", async (_name, hasKey) => {
    const common = { accept, "content-type": "application/json" };
    const headers = hasKey ? { ...common, authorization: `Bearer ${victim.key}` } : common;
    const asks = Object.entries(encodings).flatMap(([encoding, encode]) =>
      bodies.flatMap((text) => {
        const body = encode(text);
        const each = { path: "/mcp", method: "POST", headers: { ...headers, "content-encoding": encoding }, body };
        return Array.from({ length: 8 }, () => each);
      }),
    );
    const bomb = brotliCompressSync(Buffer.alloc(50_000_000, 32));
    const bombs = Array.from({ length: 20 }, () => ({
      path: "/mcp",
      method: "POST",
      headers: { ...headers, "content-encoding": "br" },
      body: bomb,
    }));
    await attack([...asks, ...bombs]);
  });

  it("with odd headers, over every method", async () => {
    const asks = oddHeaders.flatMap((odd) =>
      [list, initialize].flatMap((body) => [
        { path: "/mcp", method: "POST", headers: { accept, "content-type": "application/json", ...odd }, body },
        ...["GET", "DELETE", "PUT", "OPTIONS", "HEAD"].map((method) => ({
          path: "/mcp",
          method,
          headers: { accept, ...odd },
        })),
      ]),
    );
    await attack([...asks, ...asks, ...asks]);
  });
});
