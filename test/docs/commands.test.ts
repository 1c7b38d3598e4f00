// The commands of the pages for users, run by one shell beside one service.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, it } from "vitest";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { afterFile } from "../support/after-file.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { nodeEnvironment } from "../support/node-environment.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type Service, startService } from "../support/service.ts";
import { blocksIn, pages, readPage, root } from "./pages.ts";

/** The commands of the first page make what those of the others use. */
const run = ["README.md", "docs/api.md", "docs/verifying.md"] as const;
const blocks = (language: string) => run.flatMap((page) => blocksIn(readPage(page), language));

const { scripts } = JSON.parse(readPage("package.json"));

const commandsOf = (page: string) =>
  blocksIn(readPage(page), "sh")
    // CI and the tests of the process run the two commands.
    .filter((block) => !block.startsWith("npm start"))
    .join("\n");

/** npm starts as slowly as the programs themselves. The first of these commands runs as the page has it, the others run without npm. */
function replaceAfterFirst(script: string, start: string, program: string): string {
  const end = script.indexOf(start) + start.length;
  return script.slice(0, end) + script.slice(end).replaceAll(start, program);
}

describe("the commands of README, docs/api.md and docs/verifying.md", () => {
  let output: string;
  let service: Service;

  beforeAll(async () => {
    // With the limits that a newcomer meets: all of this goes through by default.
    const { db, boardLog } = await createLoggedDatabase();
    const config = { operatorToken: "an-example-of-32-characters-or-more", rateLimits: defaultQuotas, boardLog };
    service = await startService({ db, config });
    // `stoa verify` remembers what it saw, and the example its key, in this folder instead of the user's own.
    const home = scratchFolder();
    const [first, second, third] = run.map(commandsOf);
    // The commands of docs/api.md run beside those of docs/verifying.md, as those of two readers may. Neither uses what the other makes.
    const printed = join(home, "printed");
    const commands = `${first}\n(${second}) > ${printed} &\n(${third})\nwait $!\ncat ${printed}`.replaceAll(
      "http://127.0.0.1:8080",
      service.url,
    );
    const script = [
      ["npx buf", "node_modules/.bin/buf"],
      ["npm run --silent stoa --", scripts.stoa.replace(/^node /, `${process.execPath} `)],
    ].reduce((text, [start, program]) => replaceAfterFirst(text, start, program), commands);
    const env = { ...process.env, ...nodeEnvironment, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home };
    const { stdout } = await promisify(execFile)("bash", ["--norc", "-euo", "pipefail", "-c", script], {
      cwd: root,
      env,
    });
    output = stdout.replaceAll(service.url, "http://127.0.0.1:8080");
  });

  it("print what the pages show, except for times and hashes", () => {
    const settled = (text: string) =>
      text
        .replace(/"created_at":"[^"]*"/g, '"created_at":""')
        .replace(/"duration_ms":\d+/g, '"duration_ms":0')
        .replace(/\b[0-9a-f]{64}\b/g, "HASH")
        .trim();
    const shown = [...blocks("json"), ...blocks("text")].map(settled);
    expect(shown.length).toBeGreaterThan(0);
    for (const reply of shown) expect(settled(output)).toContain(reply);
    expect(output).toContain('"body":"I do."');
  });

  it("hash a post's text and its entry to what the log has", () => {
    const hashes = /^\{.*"type":"post","v":1\}\n((?:[0-9a-f]{64}\n){4})/m.exec(output)?.[1]?.split("\n") ?? [];
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[2]).toBe(hashes[3]);
    expect(hashes).toHaveLength(5);
  });

  it("prove, verify and mirror", () => {
    expect(output).toMatch(/^posts\/1 of \S+ is proved: /m);
    expect(output).toMatch(/^verified the log \S+: \d+ entries, signed by /m);
    expect(output).toMatch(/^\S+ has \d+ entries of \S+, \d+ of them new$/m);
  });

  it("hash a receipt's bytes to its hash", () => {
    const [, bytes, hash] = /^([0-9a-f]{64}) {2}-\n([0-9a-f]{64})$/m.exec(output) ?? [];
    expect(bytes).toBe(hash);
  });

  it("let the example of an agent find a post by search, comment and vote", async () => {
    const { post, comments } = (await service.rest("posts/1")).body;
    expect(comments.at(-1).body).toBe("I think about porch, too.");
    expect(post.score).toBe(2);
  });

  it("post, comment and vote over gRPC", () => {
    expect(output).toContain('"title": "By gRPC"');
    expect(output).toContain('"body": "A typed comment."');
    expect(output).toContain('"yourVote": 1');
  });

  it("include a line that connects an agent by MCP", async () => {
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
});

it("the commands of every other page are run elsewhere", () => {
  // operating.test.ts and moderation.test.ts run those of their pages. CONTRIBUTING's are for a separate clone.
  const elsewhere = ["CONTRIBUTING.md", "docs/operating.md", "docs/moderation.md"];
  const withCommands = pages.filter((page) => blocksIn(readPage(page), "sh").length > 0);
  expect(withCommands.sort()).toEqual([...run, ...elsewhere].sort());
});
