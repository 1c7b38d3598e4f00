import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Vector } from "./chain.ts";

const folder = new URL("../vectors/", import.meta.url);
const vectors = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((path) => /^(?:in)?valid\//.test(path))
  .map((path) => ({ path, vector: JSON.parse(readFileSync(new URL(path, folder), "utf8")) as Vector }));

describe("FORMAT.md", () => {
  const format = readFileSync(new URL("../../src/receipt/FORMAT.md", import.meta.url), "utf8");

  it("has a rule for every fault, and there is a vector for each", () => {
    const rules = format.match(/^\| \d+ \|.*$/gm) ?? [];
    const named = rules.flatMap((rule) => rule.split("|")[3]?.match(/(?<=`)\w+(?=`)/g) ?? []);
    const found = vectors.flatMap(({ vector }) => (vector.expect.ok ? [] : [vector.expect.fault]));
    expect(new Set(named)).toEqual(new Set(found));
  });

  it("shows the first vector and its hash", () => {
    const [, text, hash] = format.match(/```\n(\{"actor".*)\n```\n\nhashes to `([0-9a-f]{64})`/) ?? [];
    const genesis = vectors.find(({ path }) => path === "valid/genesis-alone.json")?.vector.receipts[0];
    expect({ canonical: text, hash }).toEqual({ canonical: genesis?.canonical, hash: genesis?.hash });
  });
});
