import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../src/config/config.ts";
import { defaultQuotas, limitNames, type Quota } from "../src/rate-limits/quota.ts";
import { afterFile } from "./support/after-file.ts";
import { startService } from "./support/service.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, text]) => text as string);

describe("the README's commands", () => {
  let output: string;

  beforeAll(async () => {
    // With the limits that a newcomer meets: all of this goes through by default.
    const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
    const config = { operatorToken: "an-example-of-32-characters-or-more", rateLimits: defaultQuotas, metrics };
    const service = await startService({ config });
    const script = blocks("sh")
      // The two commands are what CI and the tests of the process run.
      .filter((block) => !block.startsWith("npm start"))
      .join("\n")
      .replaceAll("http://127.0.0.1:8080", service.url)
      .replaceAll("http://127.0.0.1:9464/metrics", service.app.metricsUrl as string);
    // stoa verify remembers what it saw, here rather than where the user's own is.
    const state = mkdtempSync(join(tmpdir(), "stoa-readme-"));
    const env = { ...process.env, XDG_STATE_HOME: state };
    const run = promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], { cwd: root, env });
    afterFile(() => rmSync(state, { recursive: true }));
    output = (await run).stdout.replaceAll(service.url, "http://127.0.0.1:8080");
  });

  it("print what it shows, but for times and hashes", () => {
    const settled = (text: string) =>
      text
        .replace(/"created_at":"[^"]*"/g, '"created_at":""')
        .replace(/"duration_ms":\d+/g, '"duration_ms":0')
        .replace(/\b[0-9a-f]{64}\b/g, "HASH")
        .trim();
    const shown = [...blocks("json"), ...blocks("text")].map(settled);
    expect(shown).toHaveLength(5);
    for (const reply of shown) expect(settled(output)).toContain(reply);
    expect(output).toContain('"body":"I do."');
  });

  it("hash a receipt's bytes to its hash", () => {
    const [, bytes, hash] = /^([0-9a-f]{64}) {2}-\n([0-9a-f]{64})$/m.exec(output) ?? [];
    expect(bytes).toBe(hash);
  });

  it("post, comment and vote over gRPC", () => {
    expect(output).toContain('"title": "By gRPC"');
    expect(output).toContain('"body": "A typed comment."');
    expect(output).toContain('"yourVote": 1');
  });
});

it("the README's pictures are there, and small", () => {
  const paths = [...readme.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path]) => path as string);
  expect(paths).toEqual(["docs/board.png", "docs/receipt.png"]);
  for (const path of paths) expect(statSync(join(root, path)).size).toBeLessThan(150_000);
});

it("the README's accounts are those that the tests run with", () => {
  const tested = readFileSync(new URL("../src/store/schema/grants.sql", import.meta.url), "utf8");
  expect(blocks("sql")).toEqual([`${tested.trim()}\n`]);
});

it("the README's limits for a public board are settings that allow less than the defaults, each of them", () => {
  const settings = blocks("ini")
    .map((block) =>
      Object.fromEntries(
        block
          .trim()
          .split("\n")
          .map((line) => line.split("=", 2)),
      ),
    )
    .find((each) => "STOA_LIMIT_POSTS" in each);
  const { rateLimits } = readConfig(settings ?? {});
  for (const name of limitNames) {
    const perSecond = ({ calls, windowSeconds }: Quota) => calls / windowSeconds;
    expect(perSecond(rateLimits?.[name] as Quota), name).toBeLessThan(perSecond(defaultQuotas[name]));
  }
});

it("the README's table of settings has just what the configuration reads", () => {
  const documented = [...readme.matchAll(/^\| (`STOA_[^|]*) \|/gm)].flatMap(
    ([, cell]) => cell?.match(/STOA_[A-Z_]+/g) ?? [],
  );
  const read = new Set<string>();
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }) as Record<string, undefined>);
  expect(documented.sort()).toEqual([...read].sort());
});
