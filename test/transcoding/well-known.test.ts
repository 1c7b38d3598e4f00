import type { DescMessage } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { hasProtoJsonForm, isTextual } from "../../src/transcoding/well-known.ts";

/** A message of this name in a file of another package. */
const named = (typeName: string) => ({ typeName, name: typeName, file: { name: "other" }, fields: [] }) as never;

it.each<[string, (desc: DescMessage) => boolean]>([
  ["google.protobuf.Duration", hasProtoJsonForm],
  ["google.protobuf.FieldMask", hasProtoJsonForm],
  ["google.protobuf.Value", hasProtoJsonForm],
  ["google.protobuf.Any", hasProtoJsonForm],
  ["google.protobuf.ListValue", hasProtoJsonForm],
  ["google.protobuf.Duration", isTextual],
  ["google.protobuf.FieldMask", isTextual],
])("only the exact name %s counts", (name, has) => {
  expect(has(named(name))).toBe(true);
  for (const other of [`my.${name}`, `${name}Range`, name.replace("google", "Google"), name.replaceAll(".", "-")]) {
    expect([other, has(named(other))]).toEqual([other, false]);
  }
});
