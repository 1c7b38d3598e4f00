import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkVector } from "./check-vector.ts";
import { functions, hasher } from "./node-functions.ts";
import { logVectorFiles } from "./vectors/all.ts";
import type { LogVector } from "./vectors/vector.ts";

const folder = new URL("../vectors/log/", import.meta.url);
const paths = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".json"))
  .sort();
const textOf = (path: string) => readFileSync(new URL(path, folder), "utf8");
const vectors = paths.map((path) => ({ path, vector: JSON.parse(textOf(path)) as LogVector }));
const format = readFileSync(new URL("../../src/tlog/FORMAT.md", import.meta.url), "utf8");

describe("vectors", () => {
  it("are the output of scripts/vectors.ts", async () => {
    const files = await logVectorFiles();
    expect(paths).toEqual([...files.keys()].sort());
    for (const [path, text] of files) expect(textOf(path), path).toBe(text);
  });

  it("give the outcomes that they promise", async () => {
    // Messages are for people, and say what is wrong.
    const onFault = (message: string) => expect(message).toMatch(/^[a-z][ -~]{15,}[\w`]$/);
    for (const { path, vector } of vectors) {
      expect.soft(await checkVector(vector, functions, onFault), path).toEqual(vector.expect);
    }
    for (const { path, vector } of vectors) expect(vector.expect.ok, path).toBe(path.startsWith("valid/"));
  });
});

it("FORMAT.md shows a proof that is one of the vectors, with what is computed from it", () => {
  const { input, expect: outcome } = JSON.parse(textOf("valid/item-post.json")) as LogVector;
  expect(format).toContain(`\`\`\`\n${input.proof}\`\`\`\n`);
  expect(format).toContain(`\`${input.vkey}\``);
  const extra = JSON.parse(Buffer.from(/^extra (.*)$/m.exec(input.proof as string)?.[1] ?? "", "base64").toString());
  for (const name of ["entry", "content", "salt"]) expect(format).toContain(`\`${extra[name]}\`\n`);
  expect(outcome.ok && outcome.content).toEqual(JSON.parse(extra.content));
  const leaf = hasher.leaf(Buffer.from(extra.entry));
  expect(format).toContain(`\`${Buffer.from(leaf).toString("hex")}\``);
  const root = /^11\n(.*)$/m.exec(input.proof as string)?.[1] ?? "";
  expect(format).toContain(`\`${Buffer.from(root, "base64").toString("hex")}\``);
});
