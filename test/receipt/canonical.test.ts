import oracle from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CanonicalError, canonicalize, type Json } from "../../src/receipt/canonical.ts";
import { parseJson } from "../../src/receipt/parse.ts";
import { canonicalSample, canonicalSampleHex, numberSamples, sample, sortedValues, unsorted } from "./rfc8785.ts";
import { nested, values } from "./values.ts";

/** The error that canonicalize throws. It must be a CanonicalError. */
function errorOf(value: unknown): CanonicalError {
  try {
    canonicalize(value as Json);
  } catch (error) {
    if (error instanceof CanonicalError) return error;
    throw error;
  }
  throw new Error("canonicalize took the value");
}

describe("the examples of RFC 8785", () => {
  it("sections 3.2.3 and 3.2.4: the canonical text of the sample, and its bytes", () => {
    expect(canonicalize(JSON.parse(sample))).toBe(canonicalSample);
    expect(Buffer.from(canonicalSample).toString("hex")).toBe(canonicalSampleHex);
  });

  it("section 3.2.3: the order of names", () => {
    const values = canonicalize(JSON.parse(unsorted)).match(/(?<=:")[^"]*/g);
    expect(values).toEqual(sortedValues);
  });

  it.each(numberSamples)("appendix B: $bits is $text", ({ value, text }) => {
    if (text === undefined) expect(errorOf(value).message).toBe("a number is not finite");
    else expect(canonicalize(value)).toBe(text);
  });
});

describe("canonicalize", () => {
  it("writes the same text as npm's canonicalize", () => {
    fc.assert(
      fc.property(values, (value) => {
        const text = canonicalize(value);
        expect(text).toBe(oracle(value));
        expect(canonicalize(parseJson(text))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it("refuses a lone surrogate in any string, and says where it is", () => {
    const halves = fc.constantFrom("\ud800", "\udbff", "\udc00", "\udfff", "\ude00\ud83d");
    fc.assert(
      fc.property(halves, fc.string({ unit: fc.constantFrom("a", '"', "\u{1f600}") }), (half, rest) => {
        for (const text of [half + rest, `a${half}`, `${rest}"${half}`]) {
          expect(errorOf({ evidence: { list: [0, 1, text] } })).toMatchObject({
            path: "evidence.list[2]",
            message: "a string holds a lone surrogate",
          });
          expect(errorOf({ evidence: { [text]: 1 } }).path).toBe(`evidence.${text}`);
        }
      }),
    );
  });

  it.each([
    [Number.NaN, "a number is not finite"],
    [undefined, "a value of type undefined is not JSON"],
    [1n, "a value of type bigint is not JSON"],
  ])("refuses %s and says where it is", (value, message) => {
    expect(errorOf(value)).toMatchObject({ path: "", message });
    expect(errorOf({ a: [{ b: value }] })).toMatchObject({ path: "a[0].b", message });
    expect(errorOf([[1], [2, value]])).toMatchObject({ path: "[1][1]", message });
    expect(errorOf({ a: 1, b: { c: [], d: value } })).toMatchObject({ path: "b.d", message });
  });

  it("refuses an array with holes", () => {
    const holes: Json[] = [1];
    holes[2] = 3;
    expect(errorOf({ holes }).path).toBe("holes[1]");
  });

  it("accepts 200 levels below the outermost value, and no more", () => {
    for (const innermost of [7, [], {}, "a", null]) {
      expect(canonicalize(nested(200, innermost))).toBe(oracle(nested(200, innermost)));
      expect(errorOf(nested(201, innermost)).message).toBe("a value is nested deeper than 200 levels");
    }
    expect(errorOf(nested(100_000, 7)).path).toBe(`${"a[0].".repeat(100)}a`);
  });

  it("refuses a value that contains itself", () => {
    const loop: Json[] = [];
    loop.push(loop);
    expect(errorOf(loop).message).toBe("a value is nested deeper than 200 levels");
  });

  it("treats names that are special in JavaScript like all other names", () => {
    const text = '{"__proto__":{"v":2},"constructor":1,"hasOwnProperty":2,"toJSON":3,"valueOf":4}';
    expect(canonicalize(JSON.parse(text))).toBe(text);
    expect(canonicalize(Object.create(null, { a: { value: 1, enumerable: true } }))).toBe('{"a":1}');
    expect(canonicalize(Object.create({ inherited: 1 }))).toBe("{}");
  });
});
