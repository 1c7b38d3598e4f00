import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../src/config.ts";
import { startService } from "./support/service.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, text]) => text as string);

describe("the README's commands", () => {
  let output: string;

  beforeAll(async () => {
    const service = await startService();
    const script = blocks("sh")
      // The two commands are what CI and the tests of the process run.
      .filter((block) => !block.startsWith("npm start"))
      .join("\n")
      .replaceAll("http://127.0.0.1:8080", service.url);
    const run = promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], { cwd: root });
    output = (await run).stdout.replaceAll(service.url, "http://127.0.0.1:8080");
  });

  it("post, comment and vote over REST, with the replies that it shows", () => {
    const withoutTime = (text: string) => text.replace(/"created_at":"[^"]*"/g, '"created_at":""').trim();
    const shown = blocks("json").map(withoutTime);
    expect(shown).toHaveLength(2);
    for (const reply of shown) expect(withoutTime(output)).toContain(reply);
    expect(output).toContain('"body":"I do."');
  });

  it("post, comment and vote over gRPC", () => {
    expect(output).toContain('"title": "By gRPC"');
    expect(output).toContain('"body": "A typed comment."');
    expect(output).toContain('"yourVote": 1');
  });
});

it("the README's table of settings has just what the configuration reads", () => {
  const documented = [...readme.matchAll(/^\| (`STOA_[^|]*) \|/gm)].flatMap(
    ([, cell]) => cell?.match(/STOA_[A-Z_]+/g) ?? [],
  );
  const read = new Set<string>();
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }) as Record<string, undefined>);
  expect(documented.sort()).toEqual([...read].sort());
});
