// Changed proofs are refused: by us as by Go.
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { TlogError } from "../../../src/tlog/error.ts";
import { proveInclusion } from "../../../src/tlog/tiles/prove.ts";
import type { TiledTree } from "../../../src/tlog/tiles/tiled-tree.ts";
import { checkInclusion, type Tree } from "../../../src/tlog/tree/proofs.ts";
import { checkConsistency, proveConsistency } from "../consistency.ts";
import { hasher, sha256 } from "../node-functions.ts";
import { ask } from "../reference.ts";
import { rootsTo, TestLog, testEntry } from "../test-log.ts";

const size = 600;
const roots = rootsTo(size);
const log = new TestLog(size);
let tree: TiledTree;

beforeAll(async () => {
  tree = await log.open();
});

/** A list with a change: an element changed in one bit, left out, repeated, moved or added. */
const changedList = (list: readonly Uint8Array[]): fc.Arbitrary<Uint8Array[]> => {
  const at = fc.nat(list.length);
  return fc.oneof(
    fc.tuple(at, fc.nat(255)).map(([at, bit]) => list.map((hash, i) => (i === at ? flipped(hash, bit) : hash))),
    at.map((at) => list.toSpliced(at, 1)),
    fc.tuple(at, at).map(([from, to]) => list.toSpliced(to, 0, list[from] ?? new Uint8Array(32))),
    fc.tuple(at, at).map(([from, to]) => list.toSpliced(from, 1).toSpliced(to, 0, ...list.slice(from, from + 1))),
    fc.constant([...list].reverse()),
  );
};

const flipped = (hash: Uint8Array, bit: number): Uint8Array =>
  hash.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));

const numberNear = (value: number) =>
  fc.oneof(
    fc.constant(value),
    fc.integer({ min: -3, max: 3 }).map((by) => Math.max(value + by, 0)),
    fc.nat(size),
  );

async function isGood(check: Promise<void>): Promise<boolean> {
  return check.then(
    () => true,
    (error) => {
      expect(error).toBeInstanceOf(TlogError);
      expect(error.code).toMatch(/^not_(?:included|consistent)$/);
      return false;
    },
  );
}

const base64 = (hashes: readonly Uint8Array[]) => hashes.map(toBase64);
const rootAt = (size: number) => roots[size] ?? (roots[600] as Uint8Array);

it("inclusion proofs with any change are good where Go says so, and for the entry alone", async () => {
  const asked: unknown[] = [];
  const ours: boolean[] = [];
  const cases = fc
    .tuple(fc.integer({ min: 1, max: size }), fc.nat())
    .map(([size, at]) => [size, at % size] as const)
    .chain(([size, index]) => fc.tuple(fc.constant({ size, index }), numberNear(size), numberNear(index)));
  const samples = fc.sample(cases, { numRuns: 1500, seed: 4711 });
  for (const [was, claimedSize, claimedIndex] of samples) {
    const proof = await proveInclusion(tree, was.index, was.size);
    const [changed] = fc.sample(fc.oneof(fc.constant(proof), changedList(proof)), { numRuns: 1, seed: asked.length });
    const hashes = changed as Uint8Array[];
    const [leaf, root] = [hasher.leaf(testEntry(was.index)), rootAt(was.size)];
    const good = await isGood(checkInclusion(leaf, claimedIndex, hashes, { size: claimedSize, root }, sha256));
    ours.push(good);
    asked.push({
      leaf: toBase64(leaf),
      root: toBase64(root),
      index: claimedIndex,
      size: claimedSize,
      proof: base64(hashes),
    });
  }
  expect(ours).toEqual(await ask<boolean[]>("checkInclusions", asked));
  expect(new Set(ours)).toEqual(new Set([true, false]));
});

it("consistency proofs with any change are good where Go says so", async () => {
  const asked: unknown[] = [];
  const ours: boolean[] = [];
  const cases = fc
    .tuple(fc.integer({ min: 1, max: size }), fc.integer({ min: 1, max: size }))
    .map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const)
    .chain(([older, newer]) => fc.tuple(fc.constant({ older, newer }), numberNear(older), numberNear(newer)));
  for (const [was, older, newer] of fc.sample(cases, { numRuns: 1500, seed: 4712 })) {
    const proof = await proveConsistency(tree, was.older, was.newer);
    const [changed] = fc.sample(fc.oneof(fc.constant(proof), changedList(proof)), { numRuns: 1, seed: asked.length });
    const hashes = changed as Uint8Array[];
    const [olderRoot, newerRoot] = [rootAt(was.older), rootAt(was.newer)];
    const check = checkConsistency({ size: older, root: olderRoot }, { size: newer, root: newerRoot }, hashes, sha256);
    ours.push(await isGood(check));
    asked.push({ older, newer, olderRoot: toBase64(olderRoot), newerRoot: toBase64(newerRoot), proof: base64(hashes) });
  }
  expect(ours).toEqual(await ask<boolean[]>("checkConsistencies", asked));
  expect(new Set(ours)).toEqual(new Set([true, false]));
});

it("a proof of one entry is not one of another entry or another root", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(size - 1), fc.nat(255), async (index, bit) => {
      const proof = await proveInclusion(tree, index);
      const good = { size, root: rootAt(size) };
      const leaf = hasher.leaf(testEntry(index));
      expect(await isGood(checkInclusion(leaf, index, proof, good, sha256))).toBe(true);
      expect(await isGood(checkInclusion(flipped(leaf, bit), index, proof, good, sha256))).toBe(false);
      const other = { size, root: flipped(good.root, bit) };
      expect(await isGood(checkInclusion(leaf, index, proof, other, sha256))).toBe(false);
    }),
  );
});

it("a consistency proof leads to both roots, and to no others", async () => {
  const sizes = fc.tuple(fc.integer({ min: 1, max: size }), fc.integer({ min: 1, max: size }));
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(255), async ([one, other], bit) => {
      const [older, newer] = [Math.min(one, other), Math.max(one, other)].map((size) => ({
        size,
        root: rootAt(size),
      })) as [Tree, Tree];
      const proof = await proveConsistency(tree, older.size, newer.size);
      const changed = (tree: Tree) => ({ ...tree, root: flipped(tree.root, bit) });
      expect(await isGood(checkConsistency(older, newer, proof, sha256))).toBe(true);
      expect(await isGood(checkConsistency(changed(older), newer, proof, sha256))).toBe(false);
      expect(await isGood(checkConsistency(older, changed(newer), proof, sha256))).toBe(false);
    }),
  );
});

it("numbers that are no sizes, and hashes that are none, are refused", async () => {
  const root = rootAt(1);
  for (const number of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 2 ** 64]) {
    expect(await isGood(checkInclusion(root, number, [], { size: 1, root }, sha256))).toBe(false);
    expect(await isGood(checkInclusion(root, 0, [], { size: number, root }, sha256))).toBe(false);
    expect(await isGood(checkConsistency({ size: number, root }, { size: 1, root }, [], sha256))).toBe(false);
    expect(await isGood(checkConsistency({ size: 1, root }, { size: number, root }, [], sha256))).toBe(false);
  }
  const short = new Uint8Array(31);
  expect(await isGood(checkInclusion(short, 0, [], { size: 1, root: short }, sha256))).toBe(false);
  expect(await isGood(checkInclusion(root, 0, [short], { size: 2, root }, sha256))).toBe(false);
  // With a hash that is cut off, other bytes would be hashed.
  const root2 = { size: 2, root: sha256(Buffer.concat([Buffer.of(1), short, Buffer.of(0), root])) };
  expect(await isGood(checkInclusion(short, 0, [root], root2, sha256))).toBe(false);
});

it("hashes may come as promises", async () => {
  const later = async (bytes: Uint8Array<ArrayBuffer>) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const proof = await proveInclusion(tree, 123);
  await checkInclusion(hasher.leaf(testEntry(123)), 123, proof, { size, root: rootAt(size) }, later);
  const between = await proveConsistency(tree, 321);
  await checkConsistency({ size: 321, root: rootAt(321) }, { size, root: rootAt(size) }, between, later);
});
