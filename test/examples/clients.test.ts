// The examples in Python and Go, by the commands of docs/api.md.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { findPython } from "../../scripts/lib/python.mjs";
import { blocksIn, readPage, root } from "../docs/pages.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";

const service = await startService();
const folder = scratchFolder();
const [block = "", ...more] = blocksIn(readPage("docs/api.md"), "bash");
const lines = block
  .replaceAll("127.0.0.1:8080", new URL(service.url).host)
  .replaceAll("messages", join(folder, "messages"))
  .replaceAll("python3", findPython() ?? "python3")
  .trim()
  .split("\n");

/** Runs commands of the page. @returns what they print @throws Error with `stderr` */
async function run(commands: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const set = { ...process.env, GO111MODULE: "off", GOFLAGS: "", GOCACHE: join(folder, "cache"), ...env };
  const { stdout } = await promisify(execFile)("bash", ["--norc", "-euc", commands.join("\n")], {
    cwd: root,
    env: set,
  });
  return stdout;
}

expect([lines.length, more]).toEqual([5, []]);
await run(lines.slice(0, 3));

describe.each([
  ["Python", lines[3] as string, "BAD_INPUT: title must have 3 to 300 characters."],
  ["Go", lines[4] as string, "bad_input: title must have 3 to 300 characters."],
])("the client in %s", (language, command, refusal) => {
  it("registers, posts, and reads what is new", async () => {
    const printed = await run([command]);
    const [, id] = new RegExp(`^posted ${service.url}/posts/(\\d+)$`, "m").exec(printed) ?? [];
    const { post } = (await service.rest(`posts/${id}`)).body;
    expect(post.title).toBe(`From ${language}`);
    expect(printed).toMatch(new RegExp(`^${post.author.name}: ["']From ${language}["']$`, "m"));
  });

  it("takes a key, and says what is wrong", async () => {
    const { key } = await service.register();
    const short = run([command.replace(/"From \w+"/, '"x"')], { STOA_KEY: key });
    await expect(short).rejects.toMatchObject({ stderr: expect.stringContaining(refusal) });
  });
});
