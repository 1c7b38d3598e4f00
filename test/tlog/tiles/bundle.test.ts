import fc from "fast-check";
import { expect, it } from "vitest";
import { TlogError } from "../../../src/tlog/error.ts";
import { entryAt, formatBundle, parseBundle } from "../../../src/tlog/tiles/bundle.ts";
import { changedBytes } from "../mutations.ts";

const entries = fc.array(fc.uint8Array({ maxLength: 1024 }), { maxLength: 20 });

it("a bundle is read as it was written, and a changed one is refused, or is a bundle of other entries", () => {
  const cases = entries.chain((entries) => {
    const bundle = formatBundle(entries);
    return fc.tuple(fc.constant(entries), fc.oneof(fc.constant(bundle), changedBytes(bundle)));
  });
  fc.assert(
    fc.property(cases, ([entries, changed]) => {
      let parsed: Uint8Array[];
      try {
        parsed = parseBundle(changed, entries.length);
      } catch (error) {
        expect(error).toBeInstanceOf(TlogError);
        expect(error).toMatchObject({ code: "bad_bundle" });
        expect([...changed]).not.toEqual([...formatBundle(entries)]);
        return;
      }
      expect(parsed).toHaveLength(entries.length);
      expect([...formatBundle(parsed)]).toEqual([...changed]);
    }),
    { numRuns: 1000 },
  );
});

it("one entry after another can be read", () => {
  const bundle = formatBundle([Buffer.from("ab"), Buffer.from("c")]);
  expect(Buffer.from(entryAt(bundle, 0) as Uint8Array).toString()).toBe("ab");
  expect(Buffer.from(entryAt(bundle, 4) as Uint8Array).toString()).toBe("c");
  expect(entryAt(bundle, 7)).toBeUndefined();
  expect(entryAt(bundle.subarray(0, 5), 4)).toBeUndefined();
  expect(entryAt(bundle.subarray(0, 6), 4)).toBeUndefined();
});

it("no bundle is written with an entry of more than 1,024 bytes", () => {
  const bad = expect.objectContaining({ name: "TlogError", code: "bad_bundle" });
  expect(() => formatBundle([new Uint8Array(1025)])).toThrow(bad);
});
