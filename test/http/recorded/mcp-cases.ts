// Messages of MCP, good and bad, and requests at its address that are none.
import { gzipSync } from "node:zlib";
import type { Case } from "./cases.ts";

type Field = [string, string];

const usual: Field[] = [
  ["Content-Type", "application/json"],
  ["Accept", "application/json, text/event-stream"],
];

/** A request of JSON-RPC. */
function message(method: string, params?: object, id: number | null = 1): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: "2.0", method, ...(id === null ? {} : { id }), params }));
}

const calls = (name: string, input: object) => message("tools/call", { name, arguments: input });
const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "recorder", version: "1" } };

/** All cases of MCP, in the order in which they are sent. Writes come last. */
export function mcpCases(): Case[] {
  const cases: Case[] = [];
  const add = (name: string, body: Buffer | undefined, headers: Field[] = usual, as?: string) =>
    cases.push({ name: `MCP: ${name}`, method: "POST", target: "/mcp", headers, body, as });
  const fields = (...more: Field[]) => [...usual, ...more];
  for (const version of ["2025-11-25", "2025-06-18", "2024-11-05", "none"]) {
    add(`initialize for ${version}`, message("initialize", { ...client, protocolVersion: version }));
  }
  add("a notification", message("notifications/initialized", undefined, null));
  add("ping", message("ping"));
  add("the tools for anybody", message("tools/list"));
  add("the tools for an agent", message("tools/list"), usual, "Zeno");
  add("the resources", message("resources/list"));
  add("the templates of resources", message("resources/templates/list"));
  for (const uri of [
    "stoa://guide",
    "stoa://posts/1",
    "stoa://posts/1/thread",
    "stoa://posts/99",
    "stoa://x",
    "http://x",
  ]) {
    add(`the resource ${uri}`, message("resources/read", { uri }));
  }
  add("the prompts", message("prompts/list"));
  add("a prompt", message("prompts/get", { name: "answer", arguments: { post_id: "1" } }));
  add("an unknown prompt", message("prompts/get", { name: "nothing" }));
  add("params that do not fit", message("tools/call", { name: 7 }));
  add("an unknown method", message("nothing/here"));
  add("no body", undefined);
  add("what is no JSON", Buffer.from("{"));
  add("a list", Buffer.from("[]"));
  add("a batch", Buffer.from(`[${message("ping")},${message("ping")}]`));
  add("invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]));
  add("a member twice", Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}'));
  add("another version of JSON-RPC", Buffer.from('{"jsonrpc":"1.0","id":1,"method":"ping"}'));
  add("too large a body", Buffer.alloc(300_000, " "));
  add("a compressed body", gzipSync(message("ping")), fields(["Content-Encoding", "gzip"]));
  add("what is no gzip", message("ping"), fields(["Content-Encoding", "gzip"]));
  add("no content type", message("ping"), [["Accept", "application/json, text/event-stream"]]);
  add("another content type", message("ping"), [["Content-Type", "text/plain"], usual[1] as Field]);
  add("no Accept", message("ping"), [usual[0] as Field]);
  add("nothing that is accepted", message("ping"), [usual[0] as Field, ["Accept", "text/html"]]);
  add("another site", message("ping"), fields(["Origin", "https://elsewhere.example"]));
  add("this site", message("ping"), fields(["Origin", "https://stoa.example"]));
  add("a key that is not good", message("ping"), fields(["Authorization", "Bearer bad"]));
  add("a version in the head", message("ping"), fields(["MCP-Protocol-Version", "2025-06-18"]));
  add("an unknown version in the head", message("ping"), fields(["MCP-Protocol-Version", "1999-01-01"]));
  add("an unknown tool", calls("nothing", {}));
  add("a post", calls("get_post", { id: 1 }));
  add("a post that does not exist", calls("get_post", { id: 99 }));
  add("a post without an id", calls("get_post", {}));
  add("an unknown argument", calls("get_post", { id: 1, nothing: 1 }));
  add("a bad argument", calls("get_post", { id: "x" }));
  add("the feed", calls("list_posts", { sort: "new" }));
  add("a search", calls("search", { q: "first" }));
  add("a write without a key", calls("create_post", { title: "A title" }));
  add("a write without a title", calls("create_post", {}), usual, "Zeno");
  add("a write with a bad idempotency key", calls("create_post", { title: "x", idempotency_key: "y" }), usual, "Zeno");
  const once = { title: "By a tool", body: "Some words.", idempotency_key: "0123456789abcdef" };
  add("a write", calls("create_post", once), usual, "Zeno");
  add("the same write again", calls("create_post", once), usual, "Zeno");
  add("a vote", calls("vote", { post_id: 1, vote: 1 }), usual, "Zeno");
  return cases;
}
