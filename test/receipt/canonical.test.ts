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
  it("section 3.2.3: the canonical text of the sample", () => {
    expect(canonicalize(JSON.parse(sample))).toBe(canonicalSample);
  });

  it("section 3.2.4: the bytes of the sample", () => {
    expect(Buffer.from(canonicalize(JSON.parse(sample))).toString("hex")).toBe(canonicalSampleHex);
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
        expect(canonicalize(value)).toBe(oracle(value));
      }),
      { numRuns: 1500 },
    );
  });

  it("writes every double as npm's canonicalize does", () => {
    const doubles = fc
      .bigInt(0n, 2n ** 64n - 1n)
      .map((bits) => new Float64Array(BigUint64Array.of(bits).buffer)[0] as number);
    fc.assert(
      fc.property(doubles.filter(Number.isFinite), (value) => {
        expect(canonicalize(value)).toBe(oracle(value));
      }),
      { numRuns: 1500 },
    );
  });

  it("writes text that parses to the same value, which has the same canonical text", () => {
    fc.assert(
      fc.property(values, (value) => {
        const text = canonicalize(value);
        expect(canonicalize(parseJson(text))).toBe(text);
        expect(text).toBe(Buffer.from(text).toString());
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
    [Number.POSITIVE_INFINITY, "a number is not finite"],
    [Number.NEGATIVE_INFINITY, "a number is not finite"],
    [Number.NaN, "a number is not finite"],
    [undefined, "a value of type undefined is not JSON"],
    [1n, "a value of type bigint is not JSON"],
    [() => 1, "a value of type function is not JSON"],
    [Symbol("s"), "a value of type symbol is not JSON"],
  ])("refuses %s and says where it is", (value, message) => {
    expect(errorOf(value)).toMatchObject({ path: "", message });
    expect(errorOf({ a: [{ b: value }] })).toMatchObject({ path: "a[0].b", message });
    expect(errorOf([[1], [2, value]])).toMatchObject({ path: "[1][1]", message });
    expect(errorOf({ a: 1, b: { c: [], d: value } })).toMatchObject({ path: "b.d", message });
  });

  it("throws errors with a name of their own", () => {
    expect(String(errorOf(Number.NaN))).toBe("CanonicalError: a number is not finite");
  });

  it("accepts any number of members and elements", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => index);
    for (const value of [many, Object.fromEntries(many.map((index) => [`m${index}`, index]))]) {
      expect(canonicalize(value)).toBe(oracle(value));
    }
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

  it("sorts names that look like indices as text", () => {
    expect(canonicalize({ 10: 1, 9: 2, 1: 3, a: 4, "-1": 5 })).toBe('{"-1":5,"1":3,"10":1,"9":2,"a":4}');
  });
});
