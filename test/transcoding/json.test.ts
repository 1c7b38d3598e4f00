import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson as parseAsEngine } from "../../src/receipt/parse.ts";
import { JsonNumber, JsonSyntaxError, type JsonValue, parseJson } from "../../src/transcoding/json.ts";
import { anyCharacter } from "../support/any-character.ts";

/** The value as JSON.parse would give it. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return value.toNumber();
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, member]) => [key, plain(member)]));
}

/** Whether JSON.parse accepts the text, and the value; without V8's bug with names that contain escapes. */
function oracle(text: string): { value: unknown } | undefined {
  try {
    return { value: parseAsEngine(text) };
  } catch {
    return undefined;
  }
}

function expectAsOracle(text: string): void {
  const expected = oracle(text);
  if (expected === undefined) expect(() => parseJson(text), text).toThrow(JsonSyntaxError);
  else expect(plain(parseJson(text)), text).toEqual(expected.value);
}

describe("parseJson", () => {
  it("reads what JSON.parse reads, with any white space", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: anyCharacter, maxDepth: 3 }),
        fc.constantFrom(undefined, "\t", " \r\n"),
        (value, space) => {
          expectAsOracle(JSON.stringify(value, undefined, space));
        },
      ),
    );
  });

  it("reads any string that JSON.stringify writes, including lone surrogates", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) }), (text) => {
        expect(parseJson(JSON.stringify(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it("agrees with JSON.parse on any text made of JSON's tokens", () => {
    const characters = [..."{}[],:\"\\eE-+.01 \n\u00a0/'\u0000"];
    const piece = fc.constantFrom(...characters, "\\u00", "12", "true", "false", "null", "nul", '"a"', '"b":');
    // Too few for a duplicate key, which we refuse and JSON.parse accepts.
    const text = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(""));
    let valid = 0;
    fc.assert(
      fc.property(text, (each) => {
        expectAsOracle(each);
        if (oracle(each) !== undefined) valid++;
      }),
      { numRuns: 2_000 },
    );
    expect(valid).toBeGreaterThan(0);
  });

  it("agrees with JSON.parse after one character of a text is changed, removed or added", () => {
    // No single change makes two of these keys equal.
    const text = JSON.stringify({ a: [1, -2.5e3, true, null], bbb: { ccccc: '"\\\u0001é', ddddddd: [] }, eeeee: {} });
    const character = fc.constantFrom(...'{}[],:"\\-+.eE019 tfnu\n\u0000x');
    fc.assert(
      fc.property(fc.nat(text.length), fc.nat(1), character, (at, removed, added) => {
        expectAsOracle(text.slice(0, at) + added + text.slice(at + removed));
        expectAsOracle(text.slice(0, at) + text.slice(at + 1));
      }),
      { numRuns: 1_000 },
    );
  });

  it("refuses a text that is truncated at any position", () => {
    const text = '{"a":[1.5e+10,"\\u0041\\n",{"b":null,"c":true}],"d":{},"e":[[]],"f":-0}';
    expect(() => parseJson(text)).not.toThrow();
    for (let end = 0; end < text.length; end++) {
      expect(() => parseJson(text.slice(0, end)), text.slice(0, end)).toThrow(JsonSyntaxError);
    }
  });

  it.each([
    ["", "it ends too early"],
    ['{"a":1', "it ends too early"],
    ['"abc', "it ends too early"],
    ["x", "it breaks at character 1"],
    ["{}{}", "it breaks at character 3"],
    ["{a:1}", "it breaks at character 2"],
    ["[1,]", "it breaks at character 4"],
    ['["\\x"]', "it breaks at character 2"],
  ])("says where %j is wrong: %s", (text, message) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ name: "JsonSyntaxError", message }));
  });

  it("keeps a lone surrogate that is not escaped", () => {
    expect(parseJson('"\udc00x"')).toBe("\udc00x");
  });

  it.each([
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"__proto__":1,"__proto__":1}',
    '[{"c":1},{"a":1,"b":[],"a":null}]',
    '{"\\ud83d\\ude00":1,"😀":2}',
  ])("refuses a duplicate key: %s", (text) => {
    expect(() => JSON.parse(text)).not.toThrow();
    expect(() => parseJson(text)).toThrow(/comes twice/);
  });

  it("accepts the same key in different objects", () => {
    expect(plain(parseJson('{"a":{"a":1},"b":[{"a":2},{"a":3}]}'))).toEqual({ a: { a: 1 }, b: [{ a: 2 }, { a: 3 }] });
  });

  it("treats __proto__, constructor and similar names as plain keys", () => {
    const value = parseJson('{"__proto__":{"admin":true},"constructor":1,"toString":2,"hasOwnProperty":3}');
    expect([...(value as Map<string, JsonValue>).keys()]).toEqual([
      "__proto__",
      "constructor",
      "toString",
      "hasOwnProperty",
    ]);
    expect("admin" in {}).toBe(false);
    expect((value as unknown as { admin?: unknown }).admin).toBeUndefined();
  });

  it.each([
    ["[", "", "]"],
    ['{"a":', "1", "}"],
    ['[{"a":', "1", "}]"],
  ])("reads %s nested 100 levels deep, and refuses the next level, whatever follows", (open, inner, close) => {
    const levels = 100 / (open.match(/[[{]/g) as string[]).length;
    const nested = (count: number) => open.repeat(count) + inner + close.repeat(count);
    expect(parseJson(nested(levels))).toBeInstanceOf(Object);
    for (const text of [nested(levels + 1), nested(50_000), open.repeat(levels + 1)]) {
      expect(() => parseJson(text)).toThrow("nested deeper than 100 levels");
    }
    // The depth is the number of containers that are open at the same time.
    expect(parseJson(`[${Array(200).fill("[[1]]").join(",")}]`)).toHaveLength(200);
  });

  it("reads 10,000 values, and no more", () => {
    const array = (count: number) => `[${Array(count).fill("1").join(",")}]`;
    expect(parseJson(array(9_999))).toHaveLength(9_999);
    const object = `{${Array.from({ length: 10_000 }, (_, index) => `"k${index}":{}`).join(",")}}`;
    for (const text of [array(10_000), object, `[${"[],".repeat(80_000)}[]]`]) {
      expect(() => parseJson(text)).toThrow("more than 10000 values");
    }
  });

  it("reads strings, keys and escapes of 256 KiB", () => {
    const length = 256 * 1024;
    const long = "ä".repeat(length);
    expect(parseJson(`"${long}"`)).toBe(long);
    expect(parseJson(`{"${long}":"${"\\n".repeat(length)}"}`)).toEqual(new Map([[long, "\n".repeat(length)]]));
  });
});

describe("JsonNumber", () => {
  const number = (text: string) => parseJson(text) as JsonNumber;

  it("agrees with exact arithmetic on any digits and exponent", () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,12})(\.\d{1,12})?$/);
    fc.assert(
      fc.property(fc.constantFrom("", "-"), digits, fc.integer({ min: -15, max: 15 }), (sign, text, exponent) => {
        const [whole = "", fraction = ""] = text.split(".");
        // The value times 10^30 is an integer for all of these.
        const scaled = BigInt(whole + fraction) * 10n ** BigInt(30 - fraction.length + exponent);
        const expected = scaled % 10n ** 30n === 0n ? scaled / 10n ** 30n : undefined;
        const signed = expected === undefined || sign === "" ? expected : -expected;
        expect(number(`${sign}${text}e${exponent}`).toInteger()).toBe(signed);
      }),
      { numRuns: 500 },
    );
  });
});
