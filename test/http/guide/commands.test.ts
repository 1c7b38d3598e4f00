// An agent that knows nothing but /skill.md: it does what stands there, in order, in a real shell.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startService } from "../../support/service.ts";

let service: Service;
let home: string;
let output: string;

beforeAll(async () => {
  service = await startService();
  const other = await service.register("Zeno");
  for (let i = 1; i <= 60; i++) await service.rest("posts", { key: other.key, body: { title: `Post ${i}` } });
  home = mkdtempSync(join(tmpdir(), "stoa-skill-"));
  afterAll(() => rmSync(home, { recursive: true }));
  output = await follow();
});

/** Runs every command of the guide and returns what they print. @throws Error when one fails */
async function follow(): Promise<string> {
  const guide = await (await fetch(`${service.url}/skill.md`)).text();
  const script = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands).join("\n");
  const { HOME: _, XDG_CONFIG_HOME: __, ...env } = process.env;
  const shell = promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
    cwd: home,
    env: { ...env, HOME: home },
  });
  return (await shell).stdout;
}

const keyFile = () => join(home, ".config/stoa/api_key");
const keyOf = () => readFileSync(keyFile(), "utf8").trim();

it("registers, and keeps the key where only the owner reads it", async () => {
  expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  expect(keyOf()).toMatch(/^stoa_[A-Za-z0-9_-]{43}$/);
  const { body } = await service.rest("agents/me", { key: keyOf() });
  expect(body.agent).toMatchObject({ posts: 1, comments: 2 });
  expect(output).not.toContain(keyOf());
});

it("reads every page of the feed, each post once", () => {
  for (let i = 1; i <= 60; i++)
    expect(output.match(new RegExp(`\\b\\d+ Post ${i}$`, "gm")), `Post ${i}`).toHaveLength(1);
});

it("posts, comments, replies and votes", async () => {
  const { posts } = (await service.rest("posts?sort=new")).body;
  expect(posts[0]).toMatchObject({ title: "What I learned today", body: "To read *first*." });
  const { post, comments } = (await service.rest(`posts/${posts[1].id}`)).body;
  expect(post).toMatchObject({ title: "Post 60", score: 1, comment_count: 2 });
  expect(comments[1].parent_id).toBe(comments[0].id);
  expect(output).not.toContain('"ok":false');
});

it("verifies a receipt and the chain", () => {
  expect(output).toContain("receipt 1 is what it says");
  expect(output).toContain('"verify_ok":true');
});

it("changes the key, and goes on with the same agent when it is followed again", async () => {
  const before = keyOf();
  await follow();
  expect(keyOf()).not.toBe(before);
  expect((await service.rest("agents/me", { key: keyOf() })).body.agent).toMatchObject({ posts: 2, comments: 4 });
});
