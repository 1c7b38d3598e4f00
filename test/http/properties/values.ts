// Values for the fields of a message: right ones, ones at the edges of its rules, and wrong ones.
import { type DescField, getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { field as rulesOf } from "../../../gen/buf/validate/validate_pb.js";
import { anyCharacter } from "../../support/any-character.ts";

/** What exists on the server under test, by the name of the field that would hold it. */
export type Known = { [field: string]: (string | number)[] };

/** What a text may hold: letters, combining and astral ones, right to left, controls, half a character, and quotes. */
const units = "a Z - é e\u0301 😀 👩🏽‍🚀 \u05d0 \u202e \u0000 \u007f \u0085 \u2028".split(" ");
const oddUnits = ["\ufeff", "\ufffd", "\uffff", "\ud800", "\udfff", "\n", "\t", '"', "\\", "<", "%", "'", " "];

const around = (min: number, max: number) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min, max: Math.min(max, min + 60) }) },
    { weight: 1, arbitrary: fc.constantFrom(...[min - 1, min, max, max + 1].filter((length) => length >= 0)) },
  );

const cut = (text: string, length: number) => Array.from(text).slice(0, length).join("");

/** Texts of a length in code points between bounds, or just outside of them. */
function texts(min: number, max: number): Arbitrary<string> {
  const unit = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...units) }, fc.constantFrom(...oddUnits));
  return fc.oneof(
    { weight: 4, arbitrary: fc.tuple(unit, around(min, max)).map(([each, n]) => cut(each.repeat(n), n)) },
    { weight: 2, arbitrary: fc.array(unit, { minLength: min, maxLength: min + 12 }).map((all) => all.join("")) },
    { weight: 1, arbitrary: fc.string({ unit: anyCharacter, minLength: min, maxLength: Math.min(max, 200) }) },
  );
}

const oddNumbers = ["0", "-1", "1", "1.0", "1e0", "1.5", "-0", "1e400", "2147483648"].concat(
  // Around the last number that JSON has exactly, and around the last of 64 bits.
  ["9007199254740991", "9007199254740992", "9223372036854775807", "9223372036854775808", "-9223372036854775809"],
);

function numbers(min: bigint | undefined, max: bigint | undefined): Arbitrary<string> {
  const low = min ?? 0n;
  const high = max ?? low + 1_000n;
  const edges = [low - 1n, low, low + 1n, high - 1n, high, high + 1n].map(String);
  return fc.oneof(
    { weight: 3, arbitrary: fc.bigInt({ min: low, max: high }).map(String) },
    { weight: 1, arbitrary: fc.constantFrom(...edges) },
    { weight: 1, arbitrary: fc.constantFrom(...oddNumbers) },
  );
}

/** Texts of values as a URL would have them, before percent-encoding. */
export function textOf(field: DescField, known: Known): Arbitrary<string> {
  const there = known[field.name];
  return fc.oneof(
    { weight: 6, arbitrary: there === undefined ? plausible(field) : fc.constantFrom(...there.map(String)) },
    { weight: 3, arbitrary: plausible(field) },
    { weight: 1, arbitrary: texts(0, 40) },
  );
}

/** JSON texts of values for a field. */
export function jsonOf(field: DescField, known: Known): Arbitrary<string> {
  const there = known[field.name];
  return fc.oneof(
    {
      weight: there === undefined ? 0 : 5,
      arbitrary: fc.constantFrom(...(there ?? [0]).map((each) => JSON.stringify(each))),
    },
    { weight: 8, arbitrary: plausible(field).map((text) => (isQuoted(field) ? JSON.stringify(text) : text)) },
    { weight: 1, arbitrary: wrong },
  );
}

const wrong = fc.oneof(
  fc.constantFrom("null", "[]", "{}", "true", '"5"', "5", '""', '[""]', '{"a":1}', '"\\u0000"', '"\\ud800"', "NaN"),
  fc.jsonValue({ stringUnit: anyCharacter }).map((value) => JSON.stringify(value)),
  fc.integer({ min: 1, max: 12_000 }).map((depth) => "[".repeat(depth) + "]".repeat(depth)),
);

const isQuoted = (field: DescField) =>
  field.fieldKind === "enum" || (field.fieldKind === "scalar" && field.scalar === ScalarType.STRING);

/** Texts that the rules of a field allow, or nearly. */
function plausible(field: DescField): Arbitrary<string> {
  const { type } = hasOption(field, rulesOf) ? getOption(field, rulesOf) : { type: { case: undefined } };
  if (field.fieldKind === "enum") {
    const names = field.enum.values.map(({ localName }) => localName.toLowerCase());
    const odd = field.enum.values.flatMap(({ name, localName }) => [localName, name]);
    return fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...names) },
      { weight: 1, arbitrary: fc.constantFrom(...odd, "0", "1", "", " hot", "hot\u0000") },
    );
  }
  if (field.fieldKind === "message")
    return fc.dictionary(fc.string(), fc.jsonValue()).map((each) => JSON.stringify(each));
  if (field.fieldKind === "list" && field.listKind === "scalar" && field.scalar === ScalarType.STRING) {
    return fc.array(texts(0, 40), { maxLength: 4 }).map((each) => JSON.stringify(each));
  }
  if (field.fieldKind === "list" && field.listKind === "message") {
    const members = field.message.fields.map((each) =>
      fc.option(
        jsonOf(each, {}).map((json) => `${JSON.stringify(each.name)}:${json}`),
        { nil: undefined, freq: 7 },
      ),
    );
    const object = fc.tuple(...members).map((given) => `{${given.filter((each) => each !== undefined).join(",")}}`);
    return fc.array(object, { maxLength: 4 }).map((each) => `[${each.join(",")}]`);
  }
  // In a query, each element is a parameter of that name.
  if (field.fieldKind === "list" && field.scalar === ScalarType.INT64) return numbers(1n, 200n);
  if (field.fieldKind !== "scalar") throw new Error(`${field} is of a kind that these tests have not met yet`);
  switch (field.scalar) {
    case ScalarType.BOOL:
      return fc.constantFrom("true", "false");
    case ScalarType.STRING: {
      if (type.case !== "string") return texts(0, 300);
      const bounded = texts(Number(type.value.minLen), Number(type.value.maxLen || 300n));
      if (!type.value.pattern) return bounded;
      const matching = fc.stringMatching(new RegExp(type.value.pattern, "u"));
      return fc.oneof({ weight: 4, arbitrary: matching }, { weight: 1, arbitrary: bounded });
    }
    default: {
      if (type.case === "int32") return fc.constantFrom(...type.value.in.map(String), "2", "-2");
      const { lessThan, greaterThan } =
        type.case === "int64" ? type.value : { lessThan: undefined, greaterThan: undefined };
      return numbers(greaterThan?.value, lessThan?.value);
    }
  }
}
