// Clients that are in use: the official TypeScript SDK of the first generation, and Vercel's. The other tests have the second
// one. Each must see a tool's result, and the code, message and field of its error.
import { createMCPClient } from "@ai-sdk/mcp";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { startService } from "../support/service.ts";

const service = await startService();
const { key } = await service.register("Zeno");

interface Result {
  isError?: boolean;
  content: { text: string }[];
}

/** A client after it has listed the tools, which is when it begins to check results. */
type Call = (name: string, args: Record<string, unknown>) => Promise<unknown>;

const clients: Record<string, () => Promise<{ names: string[]; call: Call }>> = {
  async "the TypeScript SDK, version 1"() {
    const client = new ClientV1({ name: "stoa-tests", version: "1.0.0" });
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    // Its types do not know of exactOptionalPropertyTypes.
    await client.connect(new TransportV1(new URL(`${service.url}/mcp`), { requestInit }) as never);
    afterFile(() => client.close());
    const { tools } = await client.listTools();
    return { names: tools.map(({ name }) => name), call: (name, args) => client.callTool({ name, arguments: args }) };
  },
  async "@ai-sdk/mcp"() {
    const headers = { Authorization: `Bearer ${key}` };
    const client = await createMCPClient({ transport: { type: "http", url: `${service.url}/mcp`, headers } });
    afterFile(() => client.close());
    const tools = await client.tools();
    const options = { toolCallId: "1", messages: [], context: {} };
    return {
      names: Object.keys(tools),
      call: async (name, args) => tools[name]?.execute?.(args as never, options as never),
    };
  },
};

describe.each(Object.keys(clients))("%s", (name) => {
  it("lists the tools, and reads results and errors", async () => {
    const { names, call } = await (clients[name] as (typeof clients)[string])();
    expect(names).toContain("create_post");
    const use = async (tool: string, args: Record<string, unknown>) => {
      const { isError, content } = (await call(tool, args)) as Result;
      return { isError: isError === true, body: JSON.parse(content[0]?.text ?? "null") };
    };
    const created = await use("create_post", { title: `By ${name}` });
    expect(created).toMatchObject({ isError: false, body: { ok: true, post: { title: `By ${name}` } } });
    const own = await use("vote", { post_id: created.body.post.id, vote: 1 });
    expect(own).toMatchObject({
      isError: true,
      body: { ok: false, error: "own_content", message: expect.any(String) },
    });
    const short = await use("create_post", { title: "x" });
    expect(short).toMatchObject({ isError: true, body: { error: "bad_input", field: "title" } });
    expect((await use("get_post", { id: 999_999 })).body).toMatchObject({ error: "not_found" });
  });
});
