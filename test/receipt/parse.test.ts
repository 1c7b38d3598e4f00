import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/receipt/canonical.ts";
import { parseJson } from "../../src/receipt/parse.ts";
import { JsonNumber, type JsonValue, parseJson as readExactly } from "../../src/transcoding/json.ts";
import { misleadEngine } from "./misread-names.ts";

const pieces = fc.constantFrom("x", "u", "0", "\\", '"', "\n", "\u0000", "é", "\ud83d\ude00", "\ud800", " ", ":");
const names = fc.oneof(
  fc.string({ unit: pieces, maxLength: 4 }),
  fc.constantFrom("a", "b", "10", "9", "__proto__", "constructor", '__proto__"', "toJSON\\"),
);
const values = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: "medium" },
    fc.constantFrom<Json>(null, true, 1, -1.5e300, "", '"a\\":', ': "\\'),
    fc.string({ unit: pieces }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(names, tie("value")), { maxLength: 5 }).map((members) => Object.fromEntries(members)),
  ),
})).value;

/** The error that JSON.parse throws; undefined if the text is JSON. */
function refusalOf(parse: (text: string) => unknown, text: string): string | undefined {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
  return undefined;
}

function plain(value: JsonValue): Json {
  if (value instanceof JsonNumber) return value.toNumber();
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([name, member]) => [name, plain(member)]));
}

describe("parseJson", () => {
  it.each([
    ["an escaped quotation mark", 'x\\"', 'x"'],
    ["an escaped quotation mark, spelled as a code", "x\\u0022", 'x"'],
    ["an escaped line break", "x\\n", "x\n"],
  ])("reads a name with %s, even after the engine was misled about it", (_, written, name) => {
    // The engine is misled only where no other name followed this one before, in this process.
    const first = randomUUID();
    JSON.parse(`{"${first}":1,"x\\\\":1}`);
    const texts = [`{"${first}":1,"${written}":1}`, `[": \\\\",{"${first}":"\\"","${written}" \r\n\t:1}]`];
    for (const text of texts) {
      const value = parseJson(text);
      expect(Object.keys((Array.isArray(value) ? value[1] : value) as object)).toEqual([first, name]);
    }
  });

  it("reads back every value with its names and their order, even after the engine was misled", () => {
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, "\t", " "), (value, space) => {
        misleadEngine(value);
        const text = JSON.stringify(value, undefined, space);
        expect(JSON.stringify(parseJson(text), undefined, space)).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it("refuses the same texts as JSON.parse, with the same messages, and reads all others", () => {
    const edits = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 2 }), fc.constantFrom("", ...'{}[],:"\\u0x \n')), {
      minLength: 1,
      maxLength: 3,
    });
    const seen = { refused: 0, read: 0 };
    fc.assert(
      fc.property(values, edits, (value, edits) => {
        let text = JSON.stringify(value);
        for (const [where, removed, added] of edits) {
          const at = where % (text.length + 1);
          text = text.slice(0, at) + added + text.slice(at + removed);
        }
        const refusal = refusalOf(JSON.parse, text);
        expect(refusalOf(parseJson, text)).toBe(refusal);
        seen[refusal === undefined ? "read" : "refused"] += 1;
        // REST refuses duplicate names.
        let exact: JsonValue;
        try {
          exact = readExactly(text);
        } catch {
          return;
        }
        expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(plain(exact)));
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(seen.refused, seen.read)).toBeGreaterThan(0);
  });

  it.each([
    ['{"x\\"":1,"y":2,"x\\"":3}', '{"x\\"":3,"y":2}'],
    ['{"a":1,"\\u0061":2}', '{"a":2}'],
    ['{"\\u0061":1,"b":{"c":1},"a":2}', '{"a":2,"b":{"c":1}}'],
    ['{"\\"":{"\\"":1},"\\"":[{"\\"":2}]}', '{"\\"":[{"\\"":2}]}'],
    ['{"__proto__":{"\\n":1},"\\u005f_proto__":{"\\t":2}}', '{"__proto__":{"\\t":2}}'],
    ['{"b":1,"2":1,"\\u0031":1}', '{"1":1,"2":1,"b":1}'],
  ])("takes the last of several members with the same name: %s", (text, read) => {
    expect(JSON.stringify(parseJson(text))).toBe(read);
  });

  it("treats __proto__ like all other names, escaped or beside an escaped name", () => {
    for (const text of ['{"__proto__":{"a":1},"\\"":1}', '{"\\u005f_proto__":{"a":1}}']) {
      const value = parseJson(text) as { [name: string]: Json };
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.getOwnPropertyDescriptor(value, "__proto__")).toMatchObject({ value: { a: 1 }, enumerable: true });
    }
  });
});
