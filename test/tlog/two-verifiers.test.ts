// A verifier in Python that was written from FORMAT.md says what the vectors promise, and of vectors with any change what the
// library says, down to the fault.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, it } from "vitest";
import { scratchFolder } from "../support/scratch-folder.ts";
import { checkVector } from "./check-vector.ts";
import { changedBytes, changedText } from "./mutations.ts";
import { functions } from "./node-functions.ts";
import { checkInPython } from "./python.ts";
import type { LogVector, Outcome } from "./vector.ts";

const vectorFolder = new URL("../vectors/log/", import.meta.url);
const vectorFiles = readdirSync(vectorFolder, { recursive: true, encoding: "utf8" }).filter((path) =>
  path.endsWith(".json"),
);
const vectorOf = (path: string) => JSON.parse(readFileSync(new URL(path, vectorFolder), "utf8")) as LogVector;
const valid = vectorFiles.filter((path) => path.startsWith("valid/")).map(vectorOf);

/** The member of the input that is text from elsewhere, by check. */
const texts: { [check: string]: string } = {
  tile_path: "path",
  vkey: "vkey",
  checkpoint: "note",
  policy: "policy",
  entry: "entry",
  content: "content",
  item: "proof",
};

/** A vector with a change in its text. Changes of bytes are given in base64 where the check takes bytes. */
function changed(vector: LogVector): fc.Arbitrary<LogVector> {
  const name = texts[vector.check] as string;
  const text = vector.input[name] as string;
  const withText = (text: string) => ({ ...vector, input: { ...vector.input, [name]: text } });
  const ways = [changedText(text).map(withText)];
  if (["checkpoint", "policy", "entry", "item"].includes(vector.check)) {
    const { [name]: _, ...rest } = vector.input;
    const bytes = changedBytes(Buffer.from(text));
    ways.push(
      bytes.map((bytes) => ({
        ...vector,
        input: { ...rest, [`${name}_base64`]: Buffer.from(bytes).toString("base64") },
      })),
    );
  }
  if (vector.check === "item") ways.push(changedExtra(text).map(withText));
  return fc.oneof(...ways);
}

/** A proof with a change in its extra data, or in the entry or the text there. */
function changedExtra(proof: string): fc.Arbitrary<string> {
  const extra = Buffer.from(/^extra (.*)$/m.exec(proof)?.[1] ?? "", "base64").toString();
  const members = JSON.parse(extra) as { [name: string]: string | null };
  const withExtra = (extra: string) =>
    proof.replace(/^extra .*$/m, () => `extra ${Buffer.from(extra).toString("base64")}`);
  const ways = [changedText(extra).map(withExtra)];
  for (const [name, value] of Object.entries(members)) {
    if (value === null) continue;
    ways.push(changedText(value).map((value) => withExtra(JSON.stringify({ ...members, [name]: value }))));
  }
  return fc.oneof(...ways);
}

it("the outcomes that the vectors promise", () => {
  const outcomes = checkInPython(fileURLToPath(vectorFolder));
  expect(outcomes).toEqual(Object.fromEntries(vectorFiles.map((path) => [path, vectorOf(path).expect])));
});

it("the outcomes of 500 changed vectors", async () => {
  const folder = scratchFolder();
  mkdirSync(join(folder, "changed"));
  const some = fc.constantFrom(...valid.filter(({ check }) => check in texts)).chain(changed);
  const samples = fc.sample(some, { numRuns: 500, seed: 1795 });
  const ours: { [path: string]: Outcome } = {};
  for (const [at, vector] of samples.entries()) {
    writeFileSync(join(folder, `changed/${at}.json`), JSON.stringify(vector));
    ours[`changed/${at}.json`] = await checkVector(vector, functions);
  }
  const theirs = checkInPython(folder);
  for (const [path, outcome] of Object.entries(ours)) {
    const input = () => readFileSync(join(folder, path), "utf8");
    expect.soft({ path, ...theirs[path] }, input()).toEqual({ path, ...outcome });
  }
  const faults = new Set(Object.values(ours).map((outcome) => (outcome.ok ? "good" : outcome.fault)));
  expect(faults.size).toBeGreaterThan(12);
});
