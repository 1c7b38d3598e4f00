import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterFile } from "../support/after-file.ts";
import type { Service } from "../support/service.ts";

/** The protocol versions of these tests. The first stands alone, the others begin with `initialize`. */
export const versions = ["2026-07-28", "2025-11-25", "2025-06-18"] as const;
export type Version = (typeof versions)[number];
/** One of each kind. */
export const kindsOfVersions: readonly Version[] = ["2026-07-28", "2025-11-25"];

/** Connects the official client, with an API key if there is one. */
export async function connect(
  service: Pick<Service, "url">,
  key?: string,
  version: Version = "2025-11-25",
  headers: Record<string, string> = {},
): Promise<Client> {
  const isModern = version === "2026-07-28";
  const client = new Client(
    { name: "stoa-tests", version: "1.0.0" },
    isModern ? { versionNegotiation: { mode: { pin: version } } } : { supportedProtocolVersions: [version] },
  );
  const authorization = key === undefined ? {} : { Authorization: `Bearer ${key}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), {
    requestInit: { headers: { ...authorization, ...headers } },
  });
  await client.connect(transport);
  afterFile(() => client.close());
  return client;
}

/** The result of a tool call, as an untyped client reads it. */
export interface ToolResult {
  isError: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: tests read results as an untyped client does.
  body: any;
  text: string;
  meta: Record<string, unknown> | undefined;
}

/** Calls a tool. Its result is one text of JSON. */
export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}): Promise<ToolResult> {
  const result = await client.callTool({ name, arguments: args });
  const [content] = result.content as { text: string }[];
  return {
    isError: result.isError === true,
    body: JSON.parse(content?.text ?? "null"),
    text: content?.text ?? "",
    meta: result._meta,
  };
}

/** Posts bytes to /mcp as no client would. */
export async function postRaw(
  service: Pick<Service, "url">,
  body: string | Buffer | undefined,
  headers: Record<string, string> = {},
  method = "POST",
  path = "/mcp",
): Promise<{ status: number; text: string; headers: Headers }> {
  const reply = await fetch(`${service.url}${path}`, {
    method,
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return { status: reply.status, text: await reply.text(), headers: reply.headers };
}

/** A message of JSON-RPC. */
export function messageOf(method: string, params: unknown = {}, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** A reply of REST as a tool shows it: without the members that are null. */
export function withoutNull(body: object): object {
  return JSON.parse(JSON.stringify(body, (_name, value) => value ?? undefined));
}
