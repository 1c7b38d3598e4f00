// Roots and inclusion proofs of many sizes are those of Go's tlog.
import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { proveInclusion } from "../../../src/tlog/tiles/prove.ts";
import type { TiledTree } from "../../../src/tlog/tiles/tiled-tree.ts";
import { checkInclusion } from "../../../src/tlog/tree/proofs.ts";
import { hasher, sha256 } from "../node-functions.ts";
import { ask } from "../reference.ts";
import { TestLog, testEntry } from "../test-log.ts";

interface TreeAnswer {
  root: string;
  inclusion: string;
}

/** What the reference answers about a tree, from our code. Each proof is verified as well. */
async function answerOf(tree: TiledTree, indexes: readonly number[]): Promise<TreeAnswer> {
  const inclusion = createHash("sha256");
  const whole = { size: tree.size, root: await tree.root() };
  for (const index of indexes.filter((index) => index < tree.size)) {
    const path = await proveInclusion(tree, index);
    for (const hash of path) inclusion.update(hash);
    await checkInclusion(hasher.leaf(testEntry(index)), index, path, whole, sha256);
  }
  return { root: toBase64(whole.root), inclusion: inclusion.digest("hex") };
}

const to = (size: number) => Array.from({ length: size }, (_, index) => index);
// Every size to 300, and of each tree the entries on both sides of each subtree of 16.
it.each([
  ["up to 300 entries", to(300).map((size) => size + 1), to(300).filter((index) => [0, 1, 15].includes(index % 16))],
  [
    "about 256^2 entries",
    [65_279, 65_280, 65_281, 65_535, 65_536, 65_537],
    [0, 1, 254, 255, 256, 257, 32_767, 32_768, 65_278, 65_279, 65_280, 65_534, 65_535, 65_536],
  ],
])("trees of %s are those of Go, read from tiles of the largest", async (_, sizes, indexes) => {
  const log = new TestLog(Math.max(...sizes));
  const whole = await log.open();
  const theirs = await ask<TreeAnswer[]>("trees", { sizes, indexes });
  for (const [at, size] of sizes.entries()) {
    const tree = await log.at(size, await whole.root(size));
    expect({ size, ...(await answerOf(tree, indexes)) }).toEqual({ size, ...theirs[at] });
  }
});
