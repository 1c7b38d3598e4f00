// The readers of values stop by themselves at the depth at which the parser stops, whatever their input comes from.
import { expect, it } from "vitest";
import { decodeMessage } from "../../src/transcoding/decode.ts";
import type { Input } from "../../src/transcoding/input.ts";
import type { JsonValue } from "../../src/transcoding/json.ts";
import { fixtureMessage } from "../support/fixture.ts";

/** A value of so many containers, each in the one before. */
function nested(levels: number, wrap: (value: JsonValue) => JsonValue): JsonValue {
  let value: JsonValue = "innermost";
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}

const inArray = (value: JsonValue): JsonValue => [value];
const inObject = (value: JsonValue): JsonValue => new Map([["a", value]]);

it.each([
  ["arrays", inArray],
  ["objects", inObject],
])("an object may hold 98 levels of %s, and no more", (_, wrap) => {
  const read = (levels: number) => {
    const struct = new Map([["deep", nested(levels, wrap)]]);
    return decodeMessage(fixtureMessage("WellKnown"), new Map([["struct", struct]]) as Input);
  };
  expect(() => read(98)).not.toThrow();
  expect(() => read(99)).toThrow(
    expect.objectContaining({ code: "bad_input", field: "struct", message: "struct is nested too deeply." }),
  );
});

it("a key of a map of booleans is true or false", () => {
  const read = (key: string) =>
    decodeMessage(fixtureMessage("Maps"), new Map([["by_bool", new Map([[key, "text"]])]]) as Input);
  expect(read("true")).toMatchObject({ byBool: { true: "text" } });
  expect(read("false")).toMatchObject({ byBool: { false: "text" } });
  for (const key of ["yes", "", "True", "1"]) {
    expect(() => read(key)).toThrow(
      expect.objectContaining({ field: `by_bool.${key}`, message: `${key} cannot be a key of by_bool.` }),
    );
  }
});
