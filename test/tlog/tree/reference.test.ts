// Roots and proofs of many sizes are those of Go's tlog.
import { createHash } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { proveInclusion } from "../../../src/tlog/tiles/prove.ts";
import type { TiledTree } from "../../../src/tlog/tiles/tiled-tree.ts";
import { checkInclusion } from "../../../src/tlog/tree/proofs.ts";
import { checkConsistency, proveConsistency } from "../consistency.ts";
import { hasher, sha256 } from "../node-functions.ts";
import { ask } from "../reference.ts";
import { rootsTo, TestLog, testEntry } from "../test-log.ts";

interface TreeAnswer {
  root: string;
  inclusion: string;
  consistency: string;
}

/**
 * What the reference answers about a tree, from our code.
 * @param roots the roots of the trees of each size up to it; with them, each proof is verified as well
 */
async function answerOf(
  tree: TiledTree,
  indexes: readonly number[],
  roots?: readonly Uint8Array[],
): Promise<TreeAnswer> {
  const [inclusion, consistency] = [createHash("sha256"), createHash("sha256")];
  const whole = { size: tree.size, root: await tree.root() };
  for (const index of indexes.filter((index) => index < tree.size)) {
    const path = await proveInclusion(tree, index);
    for (const hash of path) inclusion.update(hash);
    const between = await proveConsistency(tree, index + 1);
    for (const hash of between) consistency.update(hash);
    if (roots === undefined) continue;
    await checkInclusion(hasher.leaf(testEntry(index)), index, path, whole, sha256);
    await checkConsistency({ size: index + 1, root: roots[index + 1] as Uint8Array }, whole, between, sha256);
  }
  return { root: toBase64(whole.root), inclusion: inclusion.digest("hex"), consistency: consistency.digest("hex") };
}

const small = Array.from({ length: 301 }, (_, size) => size);
let roots: Uint8Array[];
let log: TestLog;

beforeAll(() => {
  roots = rootsTo(300);
  log = new TestLog(300);
});

it("all proofs in all trees of up to 300 entries are those of Go, and verify", async () => {
  const sizes = small.slice(1);
  const theirs = await ask<TreeAnswer[]>("trees", { sizes });
  for (const size of sizes) {
    const tree = await log.at(size, roots[size] as Uint8Array);
    expect({ size, ...(await answerOf(tree, small, roots)) }).toEqual({ size, ...theirs[size - 1] });
  }
});

it("trees of about 256^2 entries are those of Go, read from tiles of the largest", async () => {
  const sizes = [65_279, 65_280, 65_281, 65_535, 65_536, 65_537];
  const indexes = [0, 1, 254, 255, 256, 257, 32_767, 32_768, 65_278, 65_279, 65_280, 65_534, 65_535, 65_536];
  const large = new TestLog(65_537);
  const whole = await large.open();
  const theirs = await ask<TreeAnswer[]>("trees", { sizes, indexes });
  for (const [at, size] of sizes.entries()) {
    const tree = await large.at(size, await whole.root(size));
    expect({ size, ...(await answerOf(tree, indexes)) }).toEqual({ size, ...theirs[at] });
  }
});

it("the root of no entries is the SHA-256 of nothing", async () => {
  expect(roots[0]).toEqual(sha256(new Uint8Array(0)));
  expect(await (await new TestLog().open()).root()).toEqual(roots[0]);
});
