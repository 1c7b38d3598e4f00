// The Go program of docs/verifying.md.
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { goEnvironment } from "../../scripts/lib/go.mjs";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { testKey } from "../tlog/node-functions.ts";
import { at, origin, proofOf, sampleEntries, sampleKey } from "../tlog/sample-log.ts";
import { blocksIn, readPage } from "./pages.ts";

const folder = scratchFolder();
const program = join(folder, "prove");

const [source = "", ...more] = blocksIn(readPage("docs/verifying.md"), "go");
expect(more).toEqual([]);
writeFileSync(`${program}.go`, source);
const env = { ...goEnvironment(), GOCACHE: join(folder, "cache") };
await promisify(execFile)("go", ["build", "-o", program, `${program}.go`], { env });

function prove(proof: string | Uint8Array, key = sampleKey): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(program, [formatVkey(key)], { input: proof, encoding: "utf8" });
  return { status, stdout, stderr };
}

it("verifies a proof", async () => {
  const { entry, text } = sampleEntries[at.edit] ?? {};
  const stdout = `${origin} has, at ${at.edit} of ${sampleEntries.length}, ${entry} of the text ${text?.content}\n`;
  expect(prove(await proofOf(at.edit))).toEqual({ status: 0, stdout, stderr: "" });
});

it("refuses one that does not verify", async () => {
  const good = await proofOf(at.post);
  const otherText = { content: "{}", salt: new Uint8Array(16) };
  const bad: [Uint8Array | string, RegExp][] = [
    [Buffer.from(good).toString().replace("index 3", "index 4"), /panic: invalid transparency proof/],
    [await proofOf(at.post, ({ hashes }) => ({ hashes: hashes.slice(1) })), /panic: invalid transparency proof/],
    [await proofOf(at.post, ({ extra }) => ({ extra: { ...extra, text: otherText } })), /panic: the log has committed/],
    ["", /panic: /],
  ];
  for (const [proof, reason] of bad) {
    expect(prove(proof)).toEqual({ status: 2, stdout: "", stderr: expect.stringMatching(reason) });
  }
  expect(prove(good, await testKey(origin, 8)).stderr).toMatch(/panic: note has no verifiable signatures/);
});
