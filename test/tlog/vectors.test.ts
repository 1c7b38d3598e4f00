import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { toBase64 } from "../../src/tlog/encoding.ts";
import { formatContent, parseContent } from "../../src/tlog/entries/content.ts";
import type { Entry } from "../../src/tlog/entries/entry.ts";
import { formatEntry, parseEntry } from "../../src/tlog/entries/entry-text.ts";
import { formatVkey, parseVkey } from "../../src/tlog/notes/key.ts";
import { formatNote, parseNote } from "../../src/tlog/notes/note.ts";
import { formatExtra, parseExtra } from "../../src/tlog/proofs/extra.ts";
import { formatProof, parseProof } from "../../src/tlog/proofs/tlog-proof.ts";
import { formatBundle, parseBundle } from "../../src/tlog/tiles/bundle.ts";
import { formatTilePath, parseTilePath } from "../../src/tlog/tiles/tile-path.ts";
import { checkVector } from "./check-vector.ts";
import { functions, hasher, sha256 } from "./node-functions.ts";
import type { LogVector } from "./vector.ts";

const folder = new URL("../vectors/log/", import.meta.url);
const paths = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".json"))
  .sort();
const textOf = (path: string) => readFileSync(new URL(path, folder), "utf8");
const vectors = paths.map((path) => ({ path, vector: JSON.parse(textOf(path)) as LogVector }));
const format = readFileSync(new URL("../../src/tlog/FORMAT.md", import.meta.url), "utf8");

/** What the library writes of what it has read, and what it read, by check. What has several forms is not compared. */
// biome-ignore lint/suspicious/noExplicitAny: the input of each check has members of its own
const rewritten: { [check: string]: (input: any) => string[] | Promise<string[]> } = {
  tile_path: ({ path }) => [formatTilePath(parseTilePath(path)), path],
  bundle: ({ bundle, width }) => [toBase64(formatBundle(parseBundle(Buffer.from(bundle, "base64"), width))), bundle],
  vkey: async ({ vkey }) => [formatVkey(await parseVkey(vkey, sha256)), vkey],
  checkpoint: ({ note }) => [asText(formatNote(parseNote(Buffer.from(note)))), note],
  entry: ({ entry }) => {
    const { type, ...parsed } = parseEntry(Buffer.from(entry));
    return type === "unknown" ? [] : [formatEntry({ type, ...parsed } as Entry), entry];
  },
  content: ({ kind, content }) => [formatContent(kind, parseContent(kind, content) as never), content],
  item: ({ proof }) => {
    const parsed = parseProof(Buffer.from(proof));
    return [asText(formatProof({ ...parsed, extra: formatExtra(parseExtra(parsed.extra)) })), proof];
  },
};
const asText = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe("vectors", () => {
  it("are what the library writes, if they are valid", async () => {
    for (const { path, vector } of vectors.filter(({ vector }) => vector.expect.ok)) {
      const [written, text] = (await rewritten[vector.check]?.(vector.input)) ?? [];
      expect(written, path).toBe(text);
    }
  });

  it("give the outcomes that they promise", async () => {
    // Messages are for people, and say what is wrong.
    const onFault = (message: string) => expect(message).toMatch(/^[a-z][ -~]{15,}[\w`]$/);
    for (const { path, vector } of vectors) {
      // Stoa itself neither makes nor checks proofs of consistency: the verifier in Python checks these.
      if (vector.check === "consistency") continue;
      expect.soft(await checkVector(vector, functions, onFault), path).toEqual(vector.expect);
    }
    for (const { path, vector } of vectors) expect(vector.expect.ok, path).toBe(path.startsWith("valid/"));
  });
});

it("FORMAT.md names no fault and no check that has no vector", () => {
  const faults = vectors.flatMap(({ vector }) => (vector.expect.ok ? [] : [vector.expect.fault]));
  const named = format.match(/(?<=`)(?:(?:bad|wrong|not|other|misplaced)_[a-z_]+|unsigned|[a-z_]+_withheld)(?=`)/g);
  expect(new Set(named?.filter((word) => word !== "not_found"))).toEqual(new Set(faults));
  const checks = format.slice(format.indexOf("| `check` |")).match(/(?<=^\| `)(?!check`)[a-z_]+(?=` \|)/gm);
  expect(new Set(checks)).toEqual(new Set(vectors.map(({ vector }) => vector.check)));
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
