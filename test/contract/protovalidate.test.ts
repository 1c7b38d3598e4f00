// Our file of rules is a part of protovalidate's: whoever has the whole file can use it in its place.
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { file_buf_validate_validate as whole } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { expect, it } from "vitest";
import { file_buf_validate_validate as ours } from "../../gen/buf/validate/validate_pb.js";

/** A field as it is sent. */
function shapeOf(field: DescField): unknown[] {
  const { number, name, fieldKind, proto } = field;
  return [number, name, fieldKind, proto.type, proto.typeName, proto.label, field.oneof?.name];
}

const named = (messages: readonly DescMessage[], name: string) => messages.find((each) => each.name === name);

it("every rule has the name, number and type of protovalidate's", () => {
  expect(ours.messages.length).toBeGreaterThan(4);
  for (const message of ours.messages) {
    const original = named(whole.messages, message.name)?.fields.map(shapeOf);
    expect(original).toEqual(expect.arrayContaining(message.fields.map(shapeOf)));
  }
  const extensionOf = ({ extensions }: typeof whole) => extensions.find(({ name }) => name === "field")?.proto;
  const { number, extendee, type, typeName } = extensionOf(ours) ?? {};
  expect(extensionOf(whole)).toMatchObject({ number, extendee, type, typeName });
});

it("Go takes the module of the whole file, so that nothing is registered twice", () => {
  const { name, options } = ours.proto;
  expect([name, options?.goPackage]).toEqual([whole.proto.name, whole.proto.options?.goPackage]);
});
