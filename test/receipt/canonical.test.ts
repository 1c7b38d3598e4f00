import oracle from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CanonicalError, canonicalize, isCanonical, type Json } from "../../src/receipt/canonical.ts";
import { canonicalSample, canonicalSampleHex, numberSamples, sample, sortedValues, unsorted } from "./rfc8785.ts";

/** The error that canonicalize throws, which must be its own. */
function errorOf(value: unknown): CanonicalError {
  try {
    canonicalize(value as Json);
  } catch (error) {
    if (error instanceof CanonicalError) return error;
    throw error;
  }
  throw new Error("canonicalize took the value");
}

function nested(levels: number, innermost: Json): Json {
  let value = innermost;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe("the examples of RFC 8785", () => {
  it("section 3.2.3: the sample's canonical text", () => {
    expect(canonicalize(JSON.parse(sample))).toBe(canonicalSample);
  });

  it("section 3.2.4: its bytes", () => {
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

const names = fc.oneof(
  fc.string({ unit: "binary" }),
  // Names that share beginnings, and whose order by code points and by UTF-16 differ.
  fc.string({
    unit: fc.constantFrom("a", "B", "1", "\u00e9", "\ud7ff", "\ue000", "\ufb33", "\uffff", "\u{10000}", "\u{1f600}"),
  }),
  fc.constantFrom("__proto__", "constructor", "toString", "10", "9", ""),
);
const values = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.nat(0x9f).map((code) => String.fromCharCode(code)) }),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.array(fc.tuple(names, tie("value")), { maxLength: 6 }).map((members) => Object.fromEntries(members)),
  ),
})).value;

describe("canonicalize", () => {
  it("writes what npm's canonicalize writes", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(canonicalize(value)).toBe(oracle(value));
      }),
      { numRuns: 5000 },
    );
  });

  it("writes any double as npm's canonicalize does", () => {
    const doubles = fc
      .bigInt(0n, 2n ** 64n - 1n)
      .map((bits) => new Float64Array(BigUint64Array.of(bits).buffer)[0] as number);
    fc.assert(
      fc.property(doubles.filter(Number.isFinite), (value) => {
        expect(canonicalize(value)).toBe(oracle(value));
      }),
      { numRuns: 5000 },
    );
  });

  it("reads back as the same value, and writes that the same", () => {
    fc.assert(
      fc.property(values, (value) => {
        const text = canonicalize(value);
        expect(canonicalize(JSON.parse(text))).toBe(text);
        expect(text).toBe(Buffer.from(text).toString());
      }),
      { numRuns: 1000 },
    );
  });

  it("refuses a string with half a character, wherever it is, and says where", () => {
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
  ])("refuses %s and says where", (value, message) => {
    expect(errorOf(value)).toMatchObject({ path: "", message });
    expect(errorOf({ a: [{ b: value }] })).toMatchObject({ path: "a[0].b", message });
    expect(errorOf([[1], [2, value]])).toMatchObject({ path: "[1][1]", message });
  });

  it("refuses an array with holes", () => {
    const holes: Json[] = [1];
    holes[2] = 3;
    expect(errorOf({ holes }).path).toBe("holes[1]");
  });

  it("takes 200 levels below the outermost value, and no more", () => {
    for (const innermost of [7, [], {}, "a", null]) {
      expect(canonicalize(nested(200, innermost))).toBe(oracle(nested(200, innermost)));
      expect(errorOf(nested(201, innermost)).message).toBe("a value is nested deeper than 200 levels");
    }
    expect(errorOf(nested(100_000, 7)).path).toBe(`${"a[0].".repeat(100)}a`);
  });

  it("refuses a value that holds itself", () => {
    const loop: Json[] = [];
    loop.push(loop);
    expect(errorOf(loop).message).toBe("a value is nested deeper than 200 levels");
  });

  it("takes names that mean something to JavaScript for names like any other", () => {
    const text = '{"__proto__":{"v":2},"constructor":1,"hasOwnProperty":2,"toJSON":3,"valueOf":4}';
    expect(canonicalize(JSON.parse(text))).toBe(text);
    expect(canonicalize(Object.create(null, { a: { value: 1, enumerable: true } }))).toBe('{"a":1}');
    expect(canonicalize(Object.create({ inherited: 1 }))).toBe("{}");
  });

  it("sorts names that look like indices as text", () => {
    expect(canonicalize({ 10: 1, 9: 2, 1: 3, a: 4, "-1": 5 })).toBe('{"-1":5,"1":3,"10":1,"9":2,"a":4}');
  });
});

describe("isCanonical", () => {
  /** What `text` is by writing it anew; undefined for no JSON. */
  function byWriting(text: string): { canonical: boolean; value: Json } | { refused: string; value: Json } | undefined {
    let value: Json;
    try {
      value = JSON.parse(text);
    } catch {
      return undefined;
    }
    try {
      return { canonical: canonicalize(value) === text, value };
    } catch (error) {
      return { refused: (error as CanonicalError).message, value };
    }
  }

  /** @returns whether the text is canonical, for both; undefined for no JSON */
  function compare(text: string): boolean | undefined {
    const expected = byWriting(text);
    if (expected === undefined) return undefined;
    let found: object;
    try {
      found = { canonical: isCanonical(text, expected.value) };
    } catch (error) {
      if (!(error instanceof CanonicalError)) throw error;
      found = { refused: error.message };
    }
    const { value, ...rest } = expected;
    if (JSON.stringify(found) !== JSON.stringify(rest)) throw new Error(`not as by writing: ${text}`);
    return "canonical" in rest && rest.canonical;
  }

  it("says of any canonical text that it is", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(compare(canonicalize(value))).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it("agrees with writing it anew on texts that are nearly canonical", () => {
    const pieces = fc.constantFrom(
      ...[
        " ",
        "\n",
        ",",
        ":",
        "0",
        "1",
        "9",
        ".0",
        "e0",
        "e2",
        "e3",
        "E1",
        "-",
        "00",
        "000",
        '"',
        '""',
        "null",
        "[]",
        "{}",
      ],
      ...[
        '"a":1',
        '"a":1,',
        ',"a":1',
        '"b":[],',
        '"1":0,',
        '"10":0,',
        "\\u0061",
        "\\ud800",
        "\\n",
        "\\/",
        "\\",
        "\ud800",
        "\u00e9",
      ],
    );
    const edits = fc.array(
      fc.record({ at: fc.nat(), drop: fc.nat({ max: 4 }), piece: fc.oneof(pieces, fc.constant("")) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    );
    const seen = { canonical: 0, other: 0 };
    fc.assert(
      fc.property(values, edits, (value, edits) => {
        let text = canonicalize(value);
        for (const { at, drop, piece } of edits) {
          const begin = at % (text.length + 1);
          text = text.slice(0, begin) + piece + text.slice(begin + drop);
        }
        const canonical = compare(text);
        if (canonical !== undefined) seen[canonical ? "canonical" : "other"] += 1;
      }),
      { numRuns: 30_000 },
    );
    expect(Math.min(seen.canonical, seen.other)).toBeGreaterThan(500);
  });

  it("agrees on every short spelling of a number, with whatever may make up for its length", () => {
    const signs = [..."0159.eE+-"];
    const seen = { canonical: 0, other: 0 };
    const spell = (text: string, left: number) => {
      if (text !== "") {
        for (const whole of [
          `[${text}]`,
          `[ ${text}]`,
          `[${text}\t\n]`,
          `{"a":0,"a":${text}}`,
          `{"b":${text},"a":0}`,
        ]) {
          const canonical = compare(whole);
          if (canonical !== undefined) seen[canonical ? "canonical" : "other"] += 1;
        }
      }
      if (left > 0) for (const sign of signs) spell(text + sign, left - 1);
    };
    spell("", 5);
    expect(seen.canonical).toBeGreaterThan(300);
    expect(seen.other).toBeGreaterThan(10_000);
  });

  it("agrees on long numbers in every spelling of a double", () => {
    const doubles = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    fc.assert(
      fc.property(doubles, fc.nat({ max: 30 }), fc.nat({ max: 3 }), (value, digits, spaces) => {
        const spellings = [String(value), value.toExponential(), value.toPrecision(digits + 1), value.toFixed(digits)];
        for (const text of spellings) compare(`[${" ".repeat(spaces)}${text}]`);
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['{"__proto__":{"v":2},"a":1}', true],
    ['{"a":1,"__proto__":{"v":2}}', false],
    ['{"__proto__":1,"__proto__":1}', false],
    ['{"2":1,"1":1}', false],
    ['{"a":1,"1":1}', false],
    ['{"1":1,"10":1,"9":1,"a":1}', true],
    ['{"":1,"!":2}', true],
    ["{}", true],
    ["[]", true],
    ["[[],{}]", true],
    ['{"a":{"c":1,"b":1}}', false],
    ['[{"c":1,"b":1}]', false],
    ["[1000]", true],
    ["[ 1e3]", false],
    ["[1e2]", false],
    ["-0", false],
    ["0", true],
    [`[${"9".repeat(15)}]`, true],
    ["[ 1e15]", false],
    ["[1,1e-400  ]", false],
    [" 1", false],
  ])("%s: %s", (text, canonical) => {
    expect(compare(text)).toBe(canonical);
  });

  it("knows the limit of depth, and half characters", () => {
    expect(compare(canonicalize(nested(200, 1)))).toBe(true);
    expect(() => isCanonical("", nested(201, 1))).toThrow(CanonicalError);
    expect(() => isCanonical('"\ud800"', "\ud800")).toThrow(CanonicalError);
    expect(() => isCanonical('"\\ud800"', "\ud800")).toThrow(CanonicalError);
  });
});
