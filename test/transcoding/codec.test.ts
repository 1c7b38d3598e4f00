import { create, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoaError } from "../../src/errors.ts";
import { decodeMessage } from "../../src/transcoding/decode.ts";
import { encoderOf } from "../../src/transcoding/encode.ts";
import type { Input } from "../../src/transcoding/input.ts";
import { JsonSyntaxError, parseJson } from "../../src/transcoding/json.ts";
import { fixtureMessage } from "../support/fixture.ts";
import { anyMessage } from "../support/fixture-messages.ts";

type Fields = Record<string, unknown>;

const decodeText = (desc: DescMessage, text: string) =>
  decodeMessage(desc, parseJson(text) as Input) as unknown as Fields;
const encode = (desc: DescMessage, init: Fields) => encoderOf(desc)(create(desc, init));

/** The field that `bad_input` names. Fails the test if there is no such error. */
function faultOf(read: () => unknown): string | undefined {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(StoaError);
    expect((error as StoaError).code).toBe("bad_input");
    return (error as StoaError).field;
  }
  throw new Error("it was taken");
}

const Scalars = fixtureMessage("Scalars");
const Optionals = fixtureMessage("Optionals");
const Lists = fixtureMessage("Lists");
const Maps = fixtureMessage("Maps");
const Node = fixtureMessage("Node");
const Choice = fixtureMessage("Choice");
const WellKnown = fixtureMessage("WellKnown");
const Strict = fixtureMessage("Strict");
const Thing = fixtureMessage("Thing");

describe("a message", () => {
  it.each([Scalars, Optionals, Lists, Maps, Node, Choice, WellKnown, Strict, Thing])(
    "is the same after encoding and decoding: $name",
    (desc) => {
      fc.assert(
        fc.property(anyMessage(desc), (message) => {
          const text = JSON.stringify(encoderOf(desc)(message));
          expect(decodeText(desc, text)).toEqual(message);
        }),
        { numRuns: 60 },
      );
    },
  );

  it("is encoded with all plain fields, under their names in the contract", () => {
    const output = encode(Scalars, {}) as Record<string, unknown>;
    expect(Object.keys(output)).toEqual(Scalars.fields.map(({ name }) => name));
    const { a_bool, a_string, a_bytes, a_color, a_bare, ...numbers } = output;
    expect([a_bool, a_string, a_bytes, a_color, a_bare]).toEqual([false, "", "", "unspecified", "nothing"]);
    expect(new Set(Object.values(numbers))).toEqual(new Set([0]));
  });

  it("has an explicit null for each unset optional field, but not for a field that is 0 or empty", () => {
    const output = encode(Optionals, {});
    expect(Object.keys(output)).toEqual(Optionals.fields.map(({ name }) => name));
    expect(new Set(Object.values(output))).toEqual(new Set([null]));
    expect(encode(Optionals, { anInt64: 0n, aString: "", aBool: false, aColor: 0 })).toMatchObject({
      an_int64: 0,
      a_string: "",
      a_bool: false,
      a_color: "unspecified",
      a_double: null,
    });
  });

  it("has an explicit null for each unset message and oneof member, and empty lists and maps", () => {
    expect(encode(Node, {})).toEqual({ name: "", child: null, children: [], named: {}, weight: null });
    const { before, after, number, ...others } = encode(Choice, { choice: { case: "number", value: 0n } }) as Fields;
    expect([before, after, number]).toEqual(["", "", 0]);
    expect(Object.keys(others)).toEqual(["text", "color", "node", "flag", "data", "wrapped", "time", "struct"]);
    expect(new Set(Object.values(others))).toEqual(new Set([null]));
    const wellKnown = encode(WellKnown, {});
    expect(wellKnown).toMatchObject({ time: null, struct: null, value: null, wrapped_int64: null, times: [] });
  });

  it("has enum values in lower case without their prefix, and the first of several names with one number", () => {
    expect(encode(Lists, { aColor: [1, 2, -3], aBare: [1] })).toMatchObject({
      a_color: ["red", "dark_green", "below"],
      a_bare: ["something"],
    });
  });

  it("has times in RFC 3339 UTC, truncated to milliseconds", () => {
    const times = [
      { seconds: 0n, nanos: 0 },
      { seconds: 1700000000n, nanos: 123_999_999 },
      { seconds: -1n, nanos: 500_000_000 },
      { seconds: -62135596800n, nanos: 0 },
      { seconds: 253402300799n, nanos: 999_999_999 },
    ];
    expect(encode(WellKnown, { times }).times).toEqual([
      "1970-01-01T00:00:00.000Z",
      "2023-11-14T22:13:20.123Z",
      "1969-12-31T23:59:59.500Z",
      "0001-01-01T00:00:00.000Z",
      "9999-12-31T23:59:59.999Z",
    ]);
  });

  it("has int64 and its wrapper as numbers, Struct as an object, and other types as in proto JSON", () => {
    const output = encode(WellKnown, {
      wrappedInt64: 9007199254740991n,
      wrappedList: [{ value: -5n }],
      duration: { seconds: 1n, nanos: 500_000_000 },
      struct: { a: [1, null, { b: "c" }] },
      mask: { paths: ["a_b", "c"] },
    });
    expect(output).toMatchObject({
      wrapped_int64: 9007199254740991,
      wrapped_list: [-5],
      duration: "1.500s",
      struct: { a: [1, null, { b: "c" }] },
      mask: "aB,c",
    });
  });

  it("has NaN and the infinities as strings, because JSON has no such numbers", () => {
    const values = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e308];
    expect(encode(Lists, { aDouble: values }).a_double).toEqual(["NaN", "Infinity", "-Infinity", 1e308]);
  });

  it.each(["anInt64", "aUint64", "aSint64", "aFixed64", "aSfixed64"])(
    "is not written with %s beyond 2^53-1",
    (name) => {
      expect(encode(Scalars, { [name]: 2n ** 53n - 1n })).toBeDefined();
      expect(() => encode(Scalars, { [name]: 2n ** 53n })).toThrow(RangeError);
      expect(() => encode(Optionals, { [name]: 2n ** 53n + 1n })).toThrow(RangeError);
      expect(() => encode(Lists, { [name]: [0n, 2n ** 63n - 1n] })).toThrow(RangeError);
      if (/^(an|aS)/.test(name)) expect(() => encode(Scalars, { [name]: -(2n ** 53n) })).toThrow(RangeError);
    },
  );

  it("is not encoded with a time beyond RFC 3339 or an enum number without a name", () => {
    expect(() => encode(WellKnown, { time: { seconds: 253402300800n, nanos: 0 } })).toThrow(RangeError);
    expect(() => encode(WellKnown, { time: { seconds: -62135596801n, nanos: 0 } })).toThrow(RangeError);
    expect(() => encode(WellKnown, { time: { seconds: 2n ** 62n, nanos: 0 } })).toThrow(RangeError);
    expect(() => encode(Scalars, { aColor: 99 })).toThrow(RangeError);
  });
});

/** JSON texts that are not values of a field of this kind. */
function wrongTexts(field: DescField): string[] {
  const notIt = ["[]", "{}", "[1]", '{"value":1}'];
  if (field.enum) {
    const names = ['"RED"', '"COLOR_RED"', '"color_red"', '"mauve"', '""', '"unspecified"', '"nothing"', '"__proto__"'];
    return [...notIt, ...names, "0", "1", "true", '"1"', '" red"'];
  }
  if (field.message) return ["1", '"x"', "true", "[]", "[{}]"];
  const scalar = field.scalar as ScalarType;
  if (scalar === ScalarType.STRING) return [...notIt, "1", "true", "false", '"\\ud800"', '"x\\udc00y"'];
  if (scalar === ScalarType.BYTES) return [...notIt, "1", "true", '"*"', '"a"', '"ä"'];
  if (scalar === ScalarType.BOOL) return [...notIt, "1", "0", '"true"', '"false"', '""'];
  const notNumbers = [...notIt, '"1"', '""', '"0"', "true", "false"];
  if (scalar === ScalarType.DOUBLE) return [...notNumbers, "1e400", "-1e309", '"1.5"', '"nan"', '"+Infinity"'];
  if (scalar === ScalarType.FLOAT) return [...notNumbers, "1e400", "1e39", "-3.5e38", '"1.5"'];
  const unsigned = ["-1", "-1.0"];
  const fractions = ["1.5", "1e-1", "0.1", "1e400", "1e99999999999", "-1e400", '"NaN"'];
  switch (scalar) {
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return [...notNumbers, ...fractions, ...unsigned, "4294967296", "1e10"];
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return [...notNumbers, ...fractions, ...unsigned, "9007199254740992", "18446744073709551615"];
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return [
        ...[...notNumbers, ...fractions, "9007199254740992", "9007199254740993", "9007199254740991.4"],
        ...["-9007199254740992", "9223372036854775808", "9".repeat(400)],
      ];
    default:
      return [...notNumbers, ...fractions, "2147483648", "-2147483649"];
  }
}

/** A value that is valid for this kind of field. */
function goodText(field: DescField): string {
  if (field.enum) return `"${field.enum.name === "Color" ? "red" : "something"}"`;
  if (field.message) return "{}";
  if (field.scalar === ScalarType.STRING) return '"x"';
  if (field.scalar === ScalarType.BYTES) return '"AA=="';
  return field.scalar === ScalarType.BOOL ? "true" : "1";
}

describe("a value of the wrong type", () => {
  it.each([...Scalars.fields, ...Optionals.fields])(
    "is refused with the name of its field: $parent.name $name",
    (field) => {
      expect(() => decodeText(field.parent, `{"${field.name}":${goodText(field)}}`)).not.toThrow();
      for (const text of wrongTexts(field)) {
        expect(
          faultOf(() => decodeText(field.parent, `{"${field.name}":${text}}`)),
          text,
        ).toBe(field.name);
      }
    },
  );

  it.each(Lists.fields)("is refused with its index in a list: $name", (field) => {
    const good = goodText(field);
    for (const text of [...wrongTexts(field), "null"]) {
      const json = `{"${field.name}":[${good},${text},${good}]}`;
      expect(
        faultOf(() => decodeText(Lists, json)),
        text,
      ).toBe(`${field.name}[1]`);
    }
    for (const text of [good, '"[]"', "true"]) {
      expect(
        faultOf(() => decodeText(Lists, `{"${field.name}":${text}}`)),
        text,
      ).toBe(field.name);
    }
    expect(faultOf(() => decodeText(Lists, `{"${field.name}":{"0":${good}}}`))).toBe(field.name);
  });

  it.each(Maps.fields)("is refused with its key in a map: $name", (field) => {
    const key = field.name === "by_bool" ? "true" : "7";
    for (const text of field.name === "by_sfixed64" ? ["1", "{}", '"x"'] : [...wrongTexts(field), "null"]) {
      expect(
        faultOf(() => decodeText(Maps, `{"${field.name}":{"${key}":${text}}}`)),
        text,
      ).toBe(`${field.name}.${key}`);
    }
    for (const text of ["[]", "1", '"x"', "true"]) {
      expect(
        faultOf(() => decodeText(Maps, `{"${field.name}":${text}}`)),
        text,
      ).toBe(field.name);
    }
  });

  it.each([
    ["by_int32", ["", "x", "01", "+1", "-0", "1.0", "1e1", "2147483648", "-2147483649", "__proto__"]],
    ["by_uint32", ["-1", "4294967296", " 1"]],
    ["by_int64", ["9007199254740992", "-9007199254740992", "9".repeat(400)]],
    ["by_fixed64", ["-1"]],
    ["by_bool", ["True", "1", "", "0"]],
  ])("is refused as a key of the map %s", (name, keys) => {
    for (const key of keys) {
      expect(
        faultOf(() => decodeText(Maps, `{"${name}":{"${key}":null}}`)),
        key,
      ).toBe(`${name}.${key}`);
    }
  });

  it("is refused with its path, however deep", () => {
    const fault = (text: string) => faultOf(() => decodeText(Node, text));
    expect(fault('{"child":{"name":1}}')).toBe("child.name");
    expect(fault('{"child":{"child":{"weight":"1"}}}')).toBe("child.child.weight");
    expect(fault('{"children":[{},{"children":[{"name":[]}]}]}')).toBe("children[1].children[0].name");
    expect(fault('{"named":{"a b":{"named":{"c":{"name":1}}}}}')).toBe("named.a b.named.c.name");
    expect(fault('{"children":[{},[]]}')).toBe("children[1]");
  });

  // The form, the days of months, the bounds of hours, minutes and seconds, fractions, offsets, and the years 1 to 9999.
  it("is refused for a time", () => {
    const texts = ["2020-01-01", "2020-01-01T00:00:00", "2020-01-01 00:00:00Z", "2020-1-1T00:00:00Z", "now", ""];
    const days = ["2023-02-29", "2023-04-31", "2023-13-01", "2023-00-01", "2023-01-00", "0000-01-01", "+2023-01-01"];
    const times = ["24:00:00Z", "23:60:00Z", "00:00:60Z", "00:00:00.Z", "00:00:00.1234567890Z", "00:00:00,5Z"];
    const offsets = ["+24:00", "+0100", "+01:60"].map((offset) => `2023-01-01T00:00:00${offset}`);
    const beyond = ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"];
    texts.push(...days.map((day) => `${day}T00:00:00Z`), ...times.map((time) => `2023-01-01T${time}`));
    for (const text of [
      ...[...texts, ...offsets, ...beyond].map((each) => JSON.stringify(each)),
      "1700000000",
      "{}",
      "[]",
    ])
      expect(
        faultOf(() => decodeText(WellKnown, `{"time":${text}}`)),
        text,
      ).toBe("time");
  });

  it.each([
    ["2023-02-28T23:59:59Z", 1677628799n, 0],
    ["2024-02-29T00:00:00+00:00", 1709164800n, 0],
    ["2023-01-01t01:30:00.5z", 1672536600n, 500_000_000],
    ["2023-01-01T01:30:00.123456789+01:30", 1672531200n, 123_456_789],
    ["1969-12-31T23:59:59.25Z", -1n, 250_000_000],
    ["0001-01-01T00:00:00Z", -62135596800n, 0],
    ["9999-12-31T23:59:59.999999999Z", 253402300799n, 999_999_999],
  ])("may be the time %s", (text, seconds, nanos) => {
    expect(decodeText(WellKnown, `{"time":"${text}"}`).time).toMatchObject({ seconds, nanos });
  });

  it("is refused for the other well-known types", () => {
    for (const [name, texts] of Object.entries({
      duration: ["1", '"1"', '"s"', '"1.0000000000s"', "{}", '"400000000000s"'],
      struct: ["[]", "1", '"{}"', "true", '{"a":1e400}', '{"a":"\\ud800"}', '{"\\ud800":1}'],
      value: ["1e400", '"\\ud800"', '{"a":["\\udc00"]}'],
      list: ["{}", "1", '"[]"', "[1e400]"],
      mask: ["1", "[]", '"a_b"'],
      empty: ["1", "[]", '""'],
      wrapped_int64: ['"1"', "1.5", "{}", '{"value":1}', "9007199254740992"],
      wrapped_uint32: ["-1", '"1"', "4294967296"],
      wrapped_string: ["1", '"\\ud800"', "{}"],
      wrapped_bool: ["1", '"true"'],
      wrapped_bytes: ["1", '"*"'],
    })) {
      for (const text of texts) {
        expect(
          faultOf(() => decodeText(WellKnown, `{"${name}":${text}}`)),
          `${name} ${text}`,
        ).toBe(name);
      }
    }
  });
});

describe("the input of a message", () => {
  it("may hold null for anything that is absent", () => {
    for (const desc of [Scalars, Optionals, Lists, Maps, Node, Choice, WellKnown]) {
      const nulls = Object.fromEntries(desc.fields.map(({ name }) => [name, null]));
      expect(decodeText(desc, JSON.stringify(nulls))).toEqual(create(desc));
    }
  });

  it("may write an integer in any form", () => {
    for (const text of ["1", "1.0", "1.000", "10e-1", "0.1e1", "1E0"]) {
      expect(decodeText(Optionals, `{"an_int64":${text},"a_uint32":${text}}`)).toMatchObject({
        anInt64: 1n,
        aUint32: 1,
      });
    }
    expect(decodeText(Optionals, '{"an_int64":-0,"an_int32":-0.0}')).toMatchObject({ anInt64: 0n, anInt32: 0 });
    expect(decodeText(Optionals, '{"an_int64":-9007199254740991}').anInt64).toBe(-9007199254740991n);
    expect(Object.is(decodeText(Optionals, '{"an_int32":-0}').anInt32, 0)).toBe(true);
  });

  it("names fields only as the contract does", () => {
    expect(decodeText(Optionals, '{"anInt64":1,"AN_INT64":2," an_int64":3}')).toEqual(create(Optionals));
    expect(decodeText(Node, '{"$typeName":"x","__proto__":{"name":"y"},"constructor":1}')).toEqual(create(Node));
  });

  it("may use any enum name with the same number", () => {
    expect(decodeText(Lists, '{"a_color":["red","crimson","below"]}').aColor).toEqual([1, 1, -3]);
  });

  it("may hold __proto__ as a key of a map or of a Struct", () => {
    const maps = decodeText(Maps, '{"counts":{"__proto__":1},"by_string":{"__proto__":{"name":"x"}}}');
    expect(Object.keys(maps.counts as object)).toEqual(["__proto__"]);
    expect(Object.keys(maps.byString as object)).toEqual(["__proto__"]);
    const { struct } = decodeText(WellKnown, '{"struct":{"__proto__":{"admin":true}}}') as { struct: object };
    expect(JSON.stringify(struct)).toBe('{"__proto__":{"admin":true}}');
    expect("admin" in {}).toBe(false);
  });

  it("sets at most one member of a oneof; the error names the later one", () => {
    expect(faultOf(() => decodeText(Choice, '{"flag":true,"text":"a"}'))).toBe("flag");
    expect(decodeText(Choice, '{"text":null,"flag":false}').choice).toEqual({ case: "flag", value: false });
  });

  it("gets the error for the lowest field number, whatever the order of the fields", () => {
    expect(faultOf(() => decodeText(Strict, '{"third":1,"second":1,"first":1}'))).toBe("first");
    expect(faultOf(() => decodeText(Strict, '{"third":1,"second":{"number":"1"}}'))).toBe("second.number");
    expect(faultOf(() => decodeText(Optionals, '{"a_bytes":1,"a_string":1,"a_double":""}'))).toBe("a_double");
  });

  it("may have unknown properties of any kind, unless the contract refuses them", () => {
    const deep = "[".repeat(99) + "]".repeat(99);
    expect(decodeText(Node, `{"what":${deep},"name":"x","child":{"ever":1e999}}`)).toMatchObject({ name: "x" });
  });

  it("gets the error for an unknown property, if the contract refuses them, after all other errors", () => {
    expect(faultOf(() => decodeText(Strict, '{"first":"x","fourth":1}'))).toBe("fourth");
    expect(faultOf(() => decodeText(Strict, '{"fourth":null}'))).toBe("fourth");
    expect(faultOf(() => decodeText(Strict, '{"__proto__":1}'))).toBe("__proto__");
    expect(faultOf(() => decodeText(Strict, '{"fourth":1,"third":1}'))).toBe("third");
    expect(faultOf(() => decodeText(Strict, '{"second":{"what":1}}'))).toBe("second.what");
  });

  it("may be nested 100 levels deep", () => {
    const nested = (depth: number) => `${'{"child":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
    expect(decodeText(Node, nested(100))).toBeDefined();
    expect(() => decodeText(Node, nested(101))).toThrow(JsonSyntaxError);
    const list = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    for (const name of ["value", "list"]) expect(decodeText(WellKnown, `{"${name}":${list(90)}}`)).toBeDefined();
  });
});
