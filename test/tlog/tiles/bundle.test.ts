import fc from "fast-check";
import { expect, it } from "vitest";
import { TlogError } from "../../../src/tlog/error.ts";
import { entryAt, formatBundle, parseBundle } from "../../../src/tlog/tiles/bundle.ts";
import { changedBytes } from "../mutations.ts";

const entries = fc.array(fc.uint8Array({ maxLength: 1024 }), { maxLength: 20 });
const plain = (list: readonly Uint8Array[]) => list.map((entry) => [...entry]);

it("entries are read as they were written", () => {
  fc.assert(
    fc.property(entries, (entries) => {
      expect(plain(parseBundle(formatBundle(entries), entries.length))).toEqual(plain(entries));
    }),
  );
});

it("each entry stands after its length in 16 bits", () => {
  const bundle = formatBundle([Buffer.from("ab"), Buffer.alloc(0), Buffer.alloc(1024, 1)]);
  expect([...bundle.subarray(0, 8)]).toEqual([0, 2, 97, 98, 0, 0, 4, 0]);
  expect(bundle.length).toBe(2 + 2 + 2 + 2 + 1024);
});

it("one entry after another can be read", () => {
  const bundle = formatBundle([Buffer.from("ab"), Buffer.from("c")]);
  expect(Buffer.from(entryAt(bundle, 0) as Uint8Array).toString()).toBe("ab");
  expect(Buffer.from(entryAt(bundle, 4) as Uint8Array).toString()).toBe("c");
  expect(entryAt(bundle, 7)).toBeUndefined();
  expect(entryAt(bundle.subarray(0, 5), 4)).toBeUndefined();
  expect(entryAt(bundle.subarray(0, 6), 4)).toBeUndefined();
});

it("a changed bundle is refused, or is a bundle of other entries", () => {
  const cases = entries.chain((entries) => {
    const bundle = formatBundle(entries);
    return fc.tuple(fc.constant(entries.length), changedBytes(bundle));
  });
  fc.assert(
    fc.property(cases, ([width, changed]) => {
      let parsed: Uint8Array[];
      try {
        parsed = parseBundle(changed, width);
      } catch (error) {
        expect(error).toBeInstanceOf(TlogError);
        expect(error).toMatchObject({ code: "bad_bundle" });
        return;
      }
      expect(parsed).toHaveLength(width);
      expect([...formatBundle(parsed)]).toEqual([...changed]);
    }),
    { numRuns: 1000 },
  );
});

it("too few entries, too many and too long ones are refused", () => {
  const bundle = formatBundle([Buffer.from("a"), Buffer.from("b")]);
  const bad = expect.objectContaining({ name: "TlogError", code: "bad_bundle" });
  expect(() => parseBundle(bundle, 1)).toThrow(bad);
  expect(() => parseBundle(bundle, 3)).toThrow(bad);
  expect(() => parseBundle(bundle.subarray(0, -1), 2)).toThrow(bad);
  expect(() => parseBundle(bundle.subarray(0, 4), 2)).toThrow(bad);
  expect(() => parseBundle(Buffer.concat([Buffer.of(4, 1), Buffer.alloc(1025)]), 1)).toThrow(bad);
  expect(() => formatBundle([new Uint8Array(1025)])).toThrow(bad);
  expect(parseBundle(new Uint8Array(0), 0)).toEqual([]);
});
