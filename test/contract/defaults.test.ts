import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { FeedSort } from "../../gen/stoa/v1/feed_pb.js";
import { CreatePostRequestSchema, ListPostsRequestSchema } from "../../gen/stoa/v1/post_service_pb.js";
import { defaultOf, enumDefault, integerDefault, stringDefault } from "../../src/contract/defaults.ts";
import { fixtureMessage } from "../support/fixture.ts";

function fieldOf(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((each) => each.name === name);
  if (field === undefined) throw new Error(`There is no ${name}.`);
  return field;
}

const wrong = (name: string, text: string) =>
  new Error(`fixture.v1.Defaults.${name} has no default of its type in the contract, but "${text}".`);

const Defaults = fixtureMessage("Defaults");

describe("the default of a field", () => {
  it("is read as the type of the field", () => {
    expect(integerDefault(fieldOf(ListPostsRequestSchema, "limit"))).toBe(25n);
    expect(stringDefault(fieldOf(CreatePostRequestSchema, "community"))).toBe("general");
    expect(enumDefault(fieldOf(ListPostsRequestSchema, "sort"))).toBe(FeedSort.HOT);
    expect(integerDefault(fieldOf(Defaults, "an_int32"))).toBe(-12n);
  });

  it("reads as a value of a message", () => {
    expect(defaultOf(fieldOf(ListPostsRequestSchema, "limit"))).toBe("25");
    expect(defaultOf(fieldOf(ListPostsRequestSchema, "sort"))).toBe(String(FeedSort.HOT));
    expect(defaultOf(fieldOf(CreatePostRequestSchema, "community"))).toBe("general");
    expect(defaultOf(fieldOf(ListPostsRequestSchema, "cursor"))).toBeUndefined();
    expect(defaultOf(fieldOf(fixtureMessage("Thing"), "color"))).toBeUndefined();
  });

  it.each([
    ["absent_int64", ""],
    ["word_int64", "many"],
    ["tail_int64", "1x"],
    ["head_int64", "x1"],
    ["double_integer", "1"],
    ["string_integer", "1"],
  ])("is not an integer: %s", (name, text) => {
    const field = fieldOf(Defaults, name);
    expect(() => integerDefault(field)).toThrow(wrong(name, text));
  });

  it("is not a string if it is absent, or if the field is not a string", () => {
    expect(() => stringDefault(fieldOf(Defaults, "absent_string"))).toThrow(wrong("absent_string", ""));
    expect(() => stringDefault(fieldOf(Defaults, "an_int32"))).toThrow(wrong("an_int32", "-12"));
  });

  it("is not an enum value if the enum does not have that name", () => {
    expect(() => enumDefault(fieldOf(Defaults, "unknown_color"))).toThrow(wrong("unknown_color", "COLOR_MAUVE"));
    expect(() => enumDefault(fieldOf(Defaults, "an_int32"))).toThrow(wrong("an_int32", "-12"));
  });
});
