import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { enumValueName } from "../../contract/field-words.ts";
import { hasProtoJsonForm, isStruct, isTimestamp, wrappedScalar } from "../../transcoding/index.ts";
import type { Schema } from "./schema.ts";

/*
 * The schemas of what the REST facade reads and writes for each type of the contract (see src/transcoding/).
 */

const safe = Number.MAX_SAFE_INTEGER;
/** Both base64 alphabets, with or without padding. */
const base64 = "^(?:[\\w+/-]{4})*(?:[\\w+/-]{2}(?:==)?|[\\w+/-]{3}=?)?$";

/** The schema of a scalar. */
export function scalarSchema(scalar: ScalarType): Schema {
  switch (scalar) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64", pattern: base64 };
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { anyOf: [{ type: "number" }, { enum: ["NaN", "Infinity", "-Infinity"] }] };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: "integer", format: "int32", minimum: -0x8000_0000, maximum: 0x7fff_ffff };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", minimum: 0, maximum: 0xffff_ffff };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: "integer", minimum: 0, maximum: safe };
    default:
      // JSON numbers are exact integers up to 2^53-1.
      return { type: "integer", format: "int64", minimum: -safe, maximum: safe };
  }
}

/** The schema of one of Google's well-known types; undefined for other messages. */
export function wellKnownSchema(desc: DescMessage, direction: "read" | "written"): Schema | undefined {
  if (isTimestamp(desc)) {
    // Responses always have milliseconds. Requests may have more or fewer digits, and any time zone.
    const pattern = "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$";
    return { type: "string", format: "date-time", ...(direction === "written" ? { pattern } : {}) };
  }
  if (isStruct(desc)) return { type: "object" };
  const wrapped = wrappedScalar(desc);
  if (wrapped !== undefined) return scalarSchema(wrapped);
  if (!hasProtoJsonForm(desc)) return undefined;
  if (desc.name === "Any") return { type: "object" };
  if (desc.name === "ListValue") return { type: "array" };
  return desc.name === "Value" ? {} : { type: "string" };
}

/** The JSON names of an enum's values, in the order of the contract. The unspecified value has none. */
export function enumNames(desc: DescEnum): { name: string; value: DescEnum["values"][number] }[] {
  return desc.values
    .filter(({ number, name }) => number !== 0 || !name.endsWith("_UNSPECIFIED"))
    .map((value) => ({ name: enumValueName(desc, value.name), value }));
}

/**
 * Whether the facade may write null for a field: if it is optional, a wrapper, or a member of a oneof. Messages without
 * `optional` must be present in responses. Protobuf does not enforce that, but the tests find an absent one.
 */
export function isNullable(field: DescField): boolean {
  if (field.fieldKind === "list" || field.fieldKind === "map") return false;
  const isWrapper = field.fieldKind === "message" && wrappedScalar(field.message) !== undefined;
  return field.proto.proto3Optional || field.oneof !== undefined || isWrapper;
}
