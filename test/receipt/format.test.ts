import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Vector } from "./chain.ts";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

it("FORMAT.md shows the first vector and its hash", () => {
  const [, text, hash] =
    read("../../src/receipt/FORMAT.md").match(/```\n(\{"actor".*)\n```\n\nhashes to `([0-9a-f]{64})`/) ?? [];
  const [genesis] = (JSON.parse(read("../vectors/valid/genesis-alone.json")) as Vector).receipts;
  expect({ canonical: text, hash }).toEqual({ canonical: genesis?.canonical, hash: genesis?.hash });
});
