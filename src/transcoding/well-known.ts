import type { DescField, DescMessage, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";

export function isTimestamp(desc: DescMessage): boolean {
  return desc.typeName === "google.protobuf.Timestamp";
}

/** The years 1 to 9999, which are all that RFC 3339 and google.protobuf.Timestamp know. */
export function isTimestampMs(ms: number): boolean {
  return ms >= -62_135_596_800_000 && ms < 253_402_300_800_000;
}

/** protobuf-es holds a google.protobuf.Struct in a field as the plain JSON object. */
export function isStruct(desc: DescMessage): boolean {
  return desc.typeName === "google.protobuf.Struct";
}

/** Types whose JSON form is proto JSON's, without anything of ours in it. */
export function hasProtoJsonForm({ typeName }: DescMessage): boolean {
  return /^google\.protobuf\.(Any|Duration|FieldMask|ListValue|Value)$/.test(typeName);
}

/** google.protobuf.Int64Value and its like: in JSON they are what they wrap. */
export function wrappedScalar(desc: DescMessage): ScalarType | undefined {
  return isWrapperDesc(desc) ? desc.fields[0].scalar : undefined;
}

/** Whether protobuf-es holds the wrapper of this field as the bare scalar. */
export function isHeldBare({ fieldKind, oneof }: DescField): boolean {
  return fieldKind === "message" && oneof === undefined;
}

/** Whether a text of the path or the query can give a message of this type. */
export function isTextual(desc: DescMessage): boolean {
  return (
    isTimestamp(desc) ||
    wrappedScalar(desc) !== undefined ||
    /^google\.protobuf\.(Duration|FieldMask)$/.test(desc.typeName)
  );
}
