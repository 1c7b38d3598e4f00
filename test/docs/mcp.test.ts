// What README says of MCP.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { startService } from "../support/service.ts";
import { blocksIn, readPage } from "./pages.ts";

it("the line in README connects an agent", async () => {
  const service = await startService();
  const { name, key } = await service.register();
  const [line = ""] = blocksIn(readPage("README.md"), "jsonc");
  const { stoa } = JSON.parse(`{${line.replace("http://127.0.0.1:8080", service.url).replace("stoa_…", key)}}`);
  expect([stoa.type, line.trim().split("\n").length]).toEqual(["http", 1]);
  const client = new Client({ name: "reader", version: "1.0.0" });
  afterFile(() => client.close());
  await client.connect(
    new StreamableHTTPClientTransport(new URL(stoa.url), { requestInit: { headers: stoa.headers } }),
  );
  const { content } = await client.callTool({ name: "get_home", arguments: {} });
  expect(JSON.parse((content as { text: string }[])[0]?.text ?? "")).toMatchObject({ ok: true, name });
});
