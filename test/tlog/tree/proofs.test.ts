// Changed inclusion proofs are refused: by us as by Go.
import fc from "fast-check";
import { expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { TlogError } from "../../../src/tlog/error.ts";
import { proveInclusion } from "../../../src/tlog/tiles/prove.ts";
import { checkInclusion } from "../../../src/tlog/tree/proofs.ts";
import { hasher, sha256 } from "../node-functions.ts";
import { ask } from "../reference.ts";
import { rootsTo, TestLog, testEntry } from "../test-log.ts";

const size = 600;

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
      expect(error.code).toBe("not_included");
      return false;
    },
  );
}

it("inclusion proofs with any change are good where Go says so", async () => {
  const roots = rootsTo(size);
  const tree = await new TestLog(size).open();
  const asked: unknown[] = [];
  const ours: boolean[] = [];
  const cases = fc
    .tuple(fc.integer({ min: 1, max: size }), fc.nat())
    .map(([size, at]) => [size, at % size] as const)
    .chain(([size, index]) => fc.tuple(fc.constant({ size, index }), numberNear(size), numberNear(index)));
  for (const [was, claimedSize, index] of fc.sample(cases, { numRuns: 1500, seed: 4711 })) {
    const right = await proveInclusion(tree, was.index, was.size);
    const [changed] = fc.sample(fc.oneof(fc.constant(right), changedList(right)), { numRuns: 1, seed: asked.length });
    const proof = changed as Uint8Array[];
    const [leaf, root] = [hasher.leaf(testEntry(was.index)), roots[was.size] as Uint8Array];
    ours.push(await isGood(checkInclusion(leaf, index, proof, { size: claimedSize, root }, sha256)));
    asked.push({ leaf: toBase64(leaf), root: toBase64(root), index, size: claimedSize, proof: proof.map(toBase64) });
  }
  expect(ours).toEqual(await ask<boolean[]>("checkInclusions", asked));
  expect(new Set(ours)).toEqual(new Set([true, false]));
});

it("numbers that are no sizes, and hashes that are none, are refused", async () => {
  const root = hasher.leaf(testEntry(0));
  for (const number of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 2 ** 64]) {
    expect(await isGood(checkInclusion(root, number, [], { size: 1, root }, sha256))).toBe(false);
    expect(await isGood(checkInclusion(root, 0, [], { size: number, root }, sha256))).toBe(false);
  }
  const short = new Uint8Array(31);
  expect(await isGood(checkInclusion(short, 0, [], { size: 1, root: short }, sha256))).toBe(false);
  expect(await isGood(checkInclusion(root, 0, [short], { size: 2, root }, sha256))).toBe(false);
  // With a hash that is cut off, other bytes would be hashed.
  const root2 = { size: 2, root: sha256(Buffer.concat([Buffer.of(1), short, Buffer.of(0), root])) };
  expect(await isGood(checkInclusion(short, 0, [root], root2, sha256))).toBe(false);
});
