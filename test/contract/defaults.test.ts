import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { FeedSort } from "../../gen/stoa/v1/feed_pb.js";
import { CreatePostRequestSchema, ListPostsRequestSchema } from "../../gen/stoa/v1/post_service_pb.js";
import { enumDefault, integerDefault, stringDefault } from "../../src/contract/defaults.ts";
import { fixtureMessage } from "../support/fixture.ts";

function fieldOf(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((each) => each.name === name);
  if (field === undefined) throw new Error(`There is no ${name}.`);
  return field;
}

const Defaults = fixtureMessage("Defaults");

describe("the default of a field", () => {
  it("is read as the type of the field", () => {
    expect(integerDefault(fieldOf(ListPostsRequestSchema, "limit"))).toBe(25n);
    expect(stringDefault(fieldOf(CreatePostRequestSchema, "community"))).toBe("general");
    expect(enumDefault(fieldOf(ListPostsRequestSchema, "sort"))).toBe(FeedSort.HOT);
    expect(integerDefault(fieldOf(Defaults, "an_int32"))).toBe(-12n);
  });

  it.each(["absent_int64", "word_int64", "tail_int64", "head_int64", "double_integer", "string_integer"])(
    "is no integer: %s",
    (name) => {
      const field = fieldOf(Defaults, name);
      expect(() => integerDefault(field)).toThrow(
        new RegExp(`^fixture\\.v1\\.Defaults\\.${name} has no default of its type in the contract, but ".*"\\.$`),
      );
    },
  );

  it("is no string where it is absent or where the field is none", () => {
    expect(() => stringDefault(fieldOf(Defaults, "absent_string"))).toThrow('but ""');
    expect(() => stringDefault(fieldOf(Defaults, "an_int32"))).toThrow('but "-12"');
  });

  it("is no enum value where the enum does not have the name", () => {
    expect(() => enumDefault(fieldOf(Defaults, "unknown_color"))).toThrow('but "COLOR_MAUVE"');
    expect(() => enumDefault(fieldOf(Defaults, "an_int32"))).toThrow('but "-12"');
  });
});
