import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalize, type Json } from "../../../src/receipt/canonical.ts";
import { CanonicalScanner, Literal } from "../../../src/receipt/fast-path/canonical-scanner.ts";
import { parseJson } from "../../../src/receipt/parse.ts";
import { nested, values } from "../values.ts";

/** Whether the scanner accepts the whole text as one value. */
function isPassed(text: string): boolean {
  const reader = new CanonicalScanner(new TextEncoder().encode(text));
  return reader.value() && reader.isAtEnd && reader.isUtf8();
}

/** Whether parsing the text and canonicalizing the value gives the same text. */
function isCanonical(text: string): boolean {
  try {
    return canonicalize(parseJson(text)) === text;
  } catch {
    return false;
  }
}

/** Checks that text is canonical if the scanner accepts it. Canonical text need not be accepted. @returns both */
function compare(text: string): { passed: boolean; canonical: boolean } {
  const passed = isPassed(text);
  const canonical = isCanonical(text);
  if (passed && !canonical) throw new Error(`passed, and not canonical: ${text}`);
  return { passed, canonical };
}

/** Values whose canonical text is plain. */
const plainCharacter = fc.oneof(
  fc.integer({ min: 0x20, max: 0x7f }).map((code) => String.fromCharCode(code)),
  fc.constantFrom("\u00e9", "\u2028", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"),
);
const plainString = fc.string({ unit: plainCharacter.filter((character) => !'"\\'.includes(character)) });
const plainName = plainString.map((name) => name.replace(/[\ue000-\uffff\u{10000}-\u{10ffff}]/gu, ""));
const plainValues = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }),
    plainString,
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(plainName, tie("value"), { maxKeys: 8 }),
  ),
})).value;

describe("CanonicalScanner.value", () => {
  it("accepts every canonical text that is plain", () => {
    fc.assert(
      fc.property(plainValues, (value) => {
        expect(isPassed(canonicalize(value))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("accepts no text that is almost canonical", () => {
    const pieces = fc.constantFrom(
      ...[" ", "\n", "\0", ",", ":", "0", "1", "9", ".0", "e0", "e2", "E1", "-", "00", '"', '""', "null", "[]", "{}"],
      ...['"a":1', '"a":1,', ',"a":1', '"b":[],', '"1":0,', '"10":0,', "\\u0061", "\\n", "\\/", "\\", "\u00e9"],
    );
    const edit = fc.record({ at: fc.nat(), drop: fc.nat({ max: 4 }), piece: fc.oneof(pieces, fc.constant("")) });
    const edits = fc.array(edit, { minLength: 1, maxLength: 3 });
    const seen = { passed: 0, other: 0 };
    fc.assert(
      fc.property(fc.oneof(values, plainValues), edits, (value, edits) => {
        let text = canonicalize(value);
        for (const { at, drop, piece } of edits) {
          const begin = at % (text.length + 1);
          text = (text.slice(0, begin) + piece + text.slice(begin + drop)).toWellFormed();
        }
        seen[compare(text).passed ? "passed" : "other"] += 1;
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(seen.passed, seen.other)).toBeGreaterThan(0);
  });

  it("accepts exactly the canonical spellings of short numbers", () => {
    const signs = [..."0159.eE+-"];
    const seen = { integers: 0, other: 0 };
    const spell = (text: string, left: number) => {
      if (text !== "")
        for (const whole of [text, `[${text}]`, `[ ${text}]`, `{"a":0,"a":${text}}`, `{"b":${text},"a":0}`]) {
          const isInteger = [text, `[${text}]`].includes(whole) && /^(0|-?[1-9]\d*)$/.test(text);
          if (compare(whole).passed !== isInteger) throw new Error(whole);
          seen[isInteger ? "integers" : "other"] += 1;
        }
      if (left > 0) for (const sign of signs) spell(text + sign, left - 1);
    };
    spell("", 3);
    expect(Math.min(seen.integers, seen.other)).toBeGreaterThan(100);
  });

  it("does not accept numbers of more than 15 digits", () => {
    for (const sign of ["", "-"]) {
      expect(compare(`${sign}${"9".repeat(15)}`)).toEqual({ passed: true, canonical: true });
      expect(compare(`${sign}${"9".repeat(16)}`)).toEqual({ passed: false, canonical: false });
      expect(compare(`${sign}9007199254740992`)).toEqual({ passed: false, canonical: true });
    }
  });

  it("does not accept names whose order differs between UTF-8 and UTF-16", () => {
    const names = ["", "a", "ab", "b", "\u00e9", "\ud7ff", "\ue000", "\uf000", "\uffff", "\u{10000}", "\u{10ffff}"];
    let passed = 0;
    for (const begin of ["", "a", "\u{1f600}"]) {
      for (const first of names) {
        for (const second of names) passed += Number(compare(`{"${begin + first}":1,"${begin + second}":2}`).passed);
      }
    }
    // It accepts the first six in any combination, and of the others those that begin with the same byte.
    expect(passed).toBe(3 * (15 + 1));
  });

  it.each([
    ['{"__proto__":{"v":2},"a":1}', true],
    ['{"a":1,"__proto__":{"v":2}}', false],
    ['{"__proto__":1,"__proto__":1}', false],
    ['{"a b":1,"a":1}', false],
    ['{"a":1,"a b":1}', true],
    ['{"":1,"!":2}', true],
    ['{"":1,"":2}', false],
    ['{"1":1,"10":1,"9":1,"a":1}', true],
    ['{"2":1,"1":1}', false],
    ["{}", true],
    ["[]", true],
    ["[[],{}]", true],
    ["[1,]", false],
    ["[,1]", false],
    ['{"a":1,}', false],
    ['{"a"}', false],
    ['{"a":}', false],
    ["{", false],
    ["[", false],
    ['{"a":1', false],
    ["[1", false],
    ["[1 ,2]", false],
    ['{"a":{"c":1,"b":1}}', false],
    ['[{"c":1,"b":1}]', false],
    ["tru", false],
    ["trueX", false],
    ["nullnull", false],
    ["", false],
    ['"', false],
    ['"\u007f/\u2028"', true],
    ['"\u001f"', false],
    ['"\\n"', false],
  ])("%j: %s", (text, passed) => {
    expect(compare(text).passed).toBe(passed);
  });

  it("does not accept text that is nested deeper than 16 levels", () => {
    for (const innermost of [1, "a", null]) {
      expect(compare(canonicalize(nested(16, innermost)))).toEqual({ passed: true, canonical: true });
      expect(compare(canonicalize(nested(17, innermost)))).toEqual({ passed: false, canonical: true });
    }
    expect(isPassed("[".repeat(100_000))).toBe(false);
    expect(isPassed('{"a":'.repeat(100_000))).toBe(false);
  });

  it("does not read beyond the bytes that it was given", () => {
    const bytes = new TextEncoder().encode('[true,"ab",-12,{"a":[]}]');
    const reader = new CanonicalScanner(bytes);
    for (let begin = 0; begin < bytes.length; begin++) {
      for (let end = begin; end <= bytes.length; end++) {
        reader.moveTo(begin, end);
        const alone = new CanonicalScanner(bytes.slice(begin, end));
        const passed = reader.value();
        expect(passed).toBe(alone.value());
        if (passed) expect([reader.at, reader.isAtEnd]).toEqual([begin + alone.at, alone.isAtEnd]);
      }
    }
  });
});

describe("CanonicalScanner.isUtf8", () => {
  it.each([
    ["ASCII", [0x61], true],
    ["two bytes", [0xc3, 0xa9], true],
    ["four bytes", [0xf0, 0x9f, 0x98, 0x80], true],
    ["a continuation alone", [0x80], false],
    ["an overlong form", [0xc0, 0xaf], false],
    ["a surrogate", [0xed, 0xa0, 0x80], false],
    ["a character cut short", [0xe2, 0x82], false],
    ["above U+10FFFF", [0xf4, 0x90, 0x80, 0x80], false],
  ])("%s: %j is %s", (_, content, isUtf8) => {
    const reader = new CanonicalScanner(Uint8Array.from([0x22, ...content, 0x22]));
    expect(reader.value() && reader.isAtEnd).toBe(true);
    expect(reader.isUtf8()).toBe(isUtf8);
    reader.moveTo(0, 1);
    expect(reader.isUtf8()).toBe(true);
  });
});

it.each(["\n", "\u001f", "\\", "\\n"])("CanonicalScanner.string accepts no string with %j", (piece) => {
  for (const text of [piece, `a${piece}`, `${piece}a`]) {
    expect(new CanonicalScanner(new TextEncoder().encode(`"${text}"`)).string()).toBe(false);
  }
});

it("CanonicalScanner.value accepts 16 levels of objects alone, or of arrays alone, and no more", () => {
  for (const [open, close] of [
    ['{"a":', "}"],
    ["[", "]"],
  ] as const) {
    const text = (levels: number) => `${open.repeat(levels)}0${close.repeat(levels)}`;
    expect([16, 17].map((levels) => isPassed(text(levels)))).toEqual([true, false]);
  }
});

describe("CanonicalScanner.literal", () => {
  it("accepts exactly the same text, of any length from four bytes on", () => {
    for (const text of ["abcd", "abcde", "abcdef", "abcdefg", "abcdefgh", "abcdefghi"]) {
      const literal = new Literal(text);
      const bytes = new TextEncoder().encode(`-${text}-`);
      const passes = (changed: Uint8Array, end: number) => {
        const reader = new CanonicalScanner(changed);
        reader.moveTo(1, end);
        return reader.literal(literal) && reader.at === 1 + text.length;
      };
      expect(passes(bytes, bytes.length)).toBe(true);
      expect(passes(bytes, bytes.length - 1)).toBe(true);
      expect(passes(bytes, bytes.length - 2)).toBe(false);
      for (let index = 1; index <= text.length; index++) {
        const changed = bytes.slice();
        changed[index] = (changed[index] as number) ^ 1;
        expect(passes(changed, bytes.length)).toBe(false);
        const reader = new CanonicalScanner(changed);
        reader.moveTo(1, bytes.length);
        expect(reader.literal(literal)).toBe(false);
      }
    }
  });
});

it("CanonicalScanner.ascii and .digits do not read beyond the bytes that they were given", () => {
  const bytes = new TextEncoder().encode("12345678");
  const at = (begin: number, end: number) => {
    const reader = new CanonicalScanner(bytes);
    reader.moveTo(begin, end);
    return reader;
  };
  expect([at(2, 6).ascii("3456"), at(2, 6).digits(4)]).toEqual([true, 3456]);
  expect([at(2, 5).ascii("3456"), at(2, 5).digits(4)]).toEqual([false, -1]);
  expect([at(6, 8).ascii("789"), at(6, 8).digits(3)]).toEqual([false, -1]);
});

it.each([
  ["0", 0],
  ["7", 7],
  ["1204", 1204],
  ["120,", 120],
  ["999999999999999", 999_999_999_999_999],
  ["1000000000000000", -1],
  ["01", -1],
  ["-1", -1],
  ["", -1],
])("CanonicalScanner.count reads %j as %d", (text, value) => {
  expect(new CanonicalScanner(new TextEncoder().encode(text)).count()).toBe(value);
});
