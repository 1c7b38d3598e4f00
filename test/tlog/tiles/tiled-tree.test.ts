import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { toBase64 } from "../../../src/tlog/encoding.ts";
import { TlogError } from "../../../src/tlog/error.ts";
import { proveInclusion, rangeOf } from "../../../src/tlog/tiles/prove.ts";
import { formatTilePath, type Tile } from "../../../src/tlog/tiles/tile-path.ts";
import type { TileTree } from "../../../src/tlog/tiles/tile-tree.ts";
import { TiledTree } from "../../../src/tlog/tiles/tiled-tree.ts";
import { hasher, sha256 } from "../node-functions.ts";
import { ask } from "../reference.ts";
import { TestLog, testEntry, touchedTiles } from "../test-log.ts";

const size = 66_000;
let log: TestLog;
let root: Uint8Array;

beforeAll(() => {
  log = new TestLog(size);
  root = log.range.root();
});

/** Reads the tiles of the log, and notes which. `change` alters what is read. */
function watched(change: (tile: Tile, bytes: Uint8Array) => Uint8Array = (_, bytes) => bytes) {
  const paths: string[] = [];
  const read = async (tile: Tile) => {
    paths.push(formatTilePath(tile));
    return change(tile, log.read(tile));
  };
  return { paths, read };
}

describe("a tree in tiles", () => {
  it("gives Go what it needs for the same proofs", async () => {
    const indexes = [0, 255, 256, 40_000, 65_279, 65_280, 65_535, 65_536, 65_999];
    const { paths, read } = watched();
    const tree = await TiledTree.open({ size, root }, read, sha256);
    const ours = [];
    for (const index of indexes) ours.push((await proveInclusion(tree, index)).map(toBase64));
    const tiles = Object.fromEntries(
      touchedTiles(0, size).map((tile) => [formatTilePath(tile), toBase64(log.read(tile))]),
    );
    expect(ours).toEqual(await ask("proveFromTiles", { size, root: toBase64(root), tiles, indexes }));
    expect(new Set(paths).size).toBe(paths.length);
  });

  it("reads the partial tiles first, then each full tile once, however many ask", async () => {
    const { paths, read } = watched();
    const tree = await TiledTree.open({ size, root }, read, sha256);
    const partial = ["tile/0/257.p/208", "tile/1/001.p/1", "tile/2/000.p/1"];
    expect(paths.toSorted()).toEqual(partial);
    await Promise.all(Array.from({ length: 20 }, (_, index) => proveInclusion(tree, 1000 + index)));
    await proveInclusion(tree, 1100);
    expect(paths.slice(3).toSorted()).toEqual(["tile/0/003", "tile/0/004", "tile/1/000"]);
  });

  it("shares verified full tiles with the trees of later checkpoints", async () => {
    const tiles = new Map<string, TileTree>();
    const { paths, read } = watched();
    await proveInclusion(await TiledTree.open({ size, root }, read, sha256, tiles), 1000);
    expect([...tiles.keys()].toSorted()).toEqual(["tile/0/003", "tile/1/000"]);
    expect(tiles.get("tile/0/003")?.bytes).toEqual(new Uint8Array(log.read({ level: 0, index: 3, width: 256 })));
    const before = paths.length;
    await proveInclusion(await TiledTree.open({ size, root }, read, sha256, tiles), 1001);
    expect(paths.slice(before).every((path) => path.includes(".p/"))).toBe(true);
  });

  describe("of which it keeps the upper halves alone", () => {
    const forgetful = { get: () => undefined, set: () => undefined };

    it("gives the same proofs, for each of which it reads a tile once", async () => {
      const { paths, read } = watched();
      const tree = await TiledTree.open({ size, root }, read, sha256, forgetful, new Map());
      const whole = await log.open();
      await proveInclusion(tree, 1000);
      for (let index = 768; index < 1024; index++) {
        const before = paths.length;
        expect(await proveInclusion(tree, index)).toEqual(await proveInclusion(whole, index));
        expect(paths.slice(before).toSorted()).toEqual(["tile/0/003", "tile/1/000"]);
      }
    });

    it("refuses a tile that was changed since it was verified, where a proof needs it", async () => {
      let changed: number | undefined;
      const { read } = watched((tile, bytes) =>
        tile.level === 0 && tile.index === 3 ? bytes.map((byte, at) => (at === changed ? byte ^ 1 : byte)) : bytes,
      );
      const tree = await TiledTree.open({ size, root }, read, sha256, forgetful, new Map());
      const proof = await proveInclusion(tree, 1000);
      // The proof of 1000 needs the entries 992 to 1007 of the tile.
      for (const entry of [992, 1000, 1001, 1007]) {
        changed = (entry - 768) * 32;
        await expect(proveInclusion(tree, 1000)).rejects.toMatchObject({ code: "wrong_tile" });
      }
      for (const entry of [768, 991, 1008, 1023]) {
        changed = (entry - 768) * 32;
        expect(await proveInclusion(tree, 1000)).toEqual(proof);
      }
    });
  });

  it("knows the roots of all older sizes, and the range to which one appends", async () => {
    const tree = await log.open();
    const range = new TestLog(500).range;
    expect(await tree.root(500)).toEqual(range.root());
    const whole = await rangeOf(tree, hasher);
    expect(whole.toBytes()).toEqual(log.range.toBytes());
    whole.append(testEntry(size));
    expect(whole.size).toBe(size + 1);
  });

  it("has nothing beyond its size", async () => {
    const tree = await log.open();
    const asks: (() => Promise<unknown>)[] = [
      () => proveInclusion(tree, size),
      () => proveInclusion(tree, 0, size + 1),
      () => tree.root(size + 1),
      () => tree.root(-1),
      () => tree.subtree({ height: 0, index: size }),
      () => tree.subtree({ height: 17, index: 0 }),
      () => TiledTree.open({ size: 2 ** 53, root }, log.read, sha256),
    ];
    for (const ask of asks) {
      const failure = await Promise.resolve()
        .then(ask)
        .catch((error) => error);
      expect(failure, String(ask)).toMatchObject({ name: "TlogError", code: "out_of_range" });
    }
  });
});

describe("tiles that are not those of the tree", () => {
  it("any change in any tile that a proof needs is found", async () => {
    const needed = ["tile/0/257.p/208", "tile/1/001.p/1", "tile/2/000.p/1", "tile/0/003", "tile/1/000"];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...needed),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (path, at, mask) => {
          const { read } = watched((tile, bytes) => {
            if (formatTilePath(tile) !== path) return bytes;
            return bytes.map((byte, i) => (i === at % bytes.length ? byte ^ mask : byte));
          });
          const failure = await TiledTree.open({ size, root }, read, sha256)
            .then((tree) => proveInclusion(tree, 1000))
            .catch((error) => error);
          expect(failure).toBeInstanceOf(TlogError);
          expect(failure).toMatchObject({ code: "wrong_tile" });
        },
      ),
      { numRuns: 60 },
    );
  });

  it("a tile of another length is refused before it is hashed", async () => {
    for (const length of [0, 1, 31, 208 * 32 - 1, 208 * 32 + 32, 8192, 1_000_000]) {
      const { read } = watched((tile, bytes) => (tile.level === 0 ? new Uint8Array(length) : bytes));
      await expect(TiledTree.open({ size, root }, read, sha256)).rejects.toMatchObject({ code: "bad_tile" });
    }
  });

  it("a tile that could not be read or was wrong once is read again", async () => {
    let failing: "read" | "bytes" | undefined = "read";
    const { paths, read } = watched((tile, bytes) => {
      if (formatTilePath(tile) !== "tile/0/003") return bytes;
      if (failing === "read") throw new Error("the disk is gone");
      return failing === "bytes" ? bytes.map((byte) => byte ^ 1) : bytes;
    });
    const tree = await TiledTree.open({ size, root }, read, sha256);
    await expect(proveInclusion(tree, 1000)).rejects.toThrow("the disk is gone");
    failing = "bytes";
    await expect(proveInclusion(tree, 1000)).rejects.toMatchObject({ code: "wrong_tile" });
    failing = undefined;
    expect(await proveInclusion(tree, 1000)).toHaveLength(17);
    expect(paths.filter((path) => path === "tile/0/003")).toHaveLength(3);
  });
});
