import type { DescField, DescMessage, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";

export function isTimestamp(desc: DescMessage): boolean {
  return desc.typeName === "google.protobuf.Timestamp";
}

/** protobuf-es holds a google.protobuf.Struct in a field as the plain JSON object. */
export function isStruct(desc: DescMessage): boolean {
  return desc.typeName === "google.protobuf.Struct";
}

/** Whether the JSON form of a type is that of proto JSON, without rules of our own. */
export function hasProtoJsonForm({ typeName }: DescMessage): boolean {
  return /^google\.protobuf\.(Any|Duration|FieldMask|ListValue|Value)$/.test(typeName);
}

/** The scalar type in google.protobuf.Int64Value and similar wrappers, which are plain values in JSON; undefined for others. */
export function wrappedScalar(desc: DescMessage): ScalarType | undefined {
  return isWrapperDesc(desc) ? desc.fields[0].scalar : undefined;
}

/** Whether protobuf-es represents the wrapper in this field as the bare scalar. */
export function isHeldBare({ fieldKind, oneof }: DescField): boolean {
  return fieldKind === "message" && oneof === undefined;
}

/** Whether a text in the path or the query can be read as a message of this type. */
export function isTextual(desc: DescMessage): boolean {
  return (
    isTimestamp(desc) ||
    wrappedScalar(desc) !== undefined ||
    /^google\.protobuf\.(Duration|FieldMask)$/.test(desc.typeName)
  );
}

/** The years 1 to 9999 in milliseconds since 1970 (UTC): the range of RFC 3339 and google.protobuf.Timestamp. */
export const [firstMs, lastMs] = [-62_135_596_800_000, 253_402_300_799_999];
