import fc from "fast-check";
import { expect, it } from "vitest";
import { CompactRange } from "../../../src/tlog/tree/compact-range.ts";
import { hasher, sha256 } from "../node-functions.ts";
import { rootsTo, testEntries, testEntry } from "../test-log.ts";

const roots = rootsTo(600);

const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes as Uint8Array).toString("hex");

const rangeTo = (size: number): CompactRange => {
  const range = new CompactRange(hasher);
  range.appendAll(testEntries(0, size));
  return range;
};

it("a restored range goes on like the one that was stored", () => {
  fc.assert(
    fc.property(fc.nat(300), fc.nat(300), (size, more) => {
      const stored = Buffer.from(rangeTo(size).toBytes());
      const restored = CompactRange.fromBytes(stored, hasher);
      // The range has its own copy: a buffer may be used again.
      stored.fill(0);
      expect(hex(restored.root())).toBe(hex(roots[size]));
      restored.appendAll(testEntries(size, size + more));
      expect([restored.size, hex(restored.root())]).toEqual([size + more, hex(roots[size + more])]);
    }),
  );
});

it("entries of any length are hashed whole", () => {
  for (const length of [0, 1, 1024, 2046, 2047, 2048, 70_000]) {
    const entry = new Uint8Array(length).fill(7);
    expect(hasher.leaf(entry), `${length}`).toEqual(sha256(Buffer.concat([Buffer.of(0), entry])));
  }
});

it("the largest size is restored, and appending to it does not lose count", () => {
  const size = 2 ** 53 - 2;
  const parts = Array.from({ length: 52 }, (_, at) => sha256(Buffer.of(at)));
  const range = CompactRange.of(size, parts, hasher);
  range.append(testEntry(0));
  expect(range.size).toBe(2 ** 53 - 1);
  const bytes = range.toBytes();
  expect(bytes.length).toBe(8 + 53 * 32);
  expect(CompactRange.fromBytes(bytes, hasher).root()).toEqual(range.root());
});

it("bytes that no range writes are refused", () => {
  const bytes = rangeTo(11).toBytes();
  const withSize = (size: bigint) => {
    const changed = bytes.slice();
    new DataView(changed.buffer).setBigUint64(0, size);
    return changed;
  };
  const bad = {
    nothing: new Uint8Array(0),
    "half a size": bytes.slice(0, 7),
    "half a hash": bytes.slice(0, -1),
    "a hash too few": bytes.slice(0, -32),
    "a hash too many": Buffer.concat([bytes, bytes.slice(-32)]),
    "another size": withSize(12n),
    "a size beyond 2^53": withSize(2n ** 53n + 11n),
    "a size beyond 2^63": withSize(2n ** 64n - 1n),
    "too many bytes": new Uint8Array(100_000),
  };
  for (const [what, each] of Object.entries(bad)) {
    expect(() => CompactRange.fromBytes(each, hasher), what).toThrow(expect.objectContaining({ code: "bad_range" }));
  }
  expect(CompactRange.fromBytes(withSize(13n), hasher).size).toBe(13);
});
