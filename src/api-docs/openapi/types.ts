import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { enumValueName } from "../../transcoding/encode.ts";
import { hasProtoJsonForm, isStruct, isTimestamp, wrappedScalar } from "../../transcoding/well-known.ts";
import type { Schema } from "./schema.ts";

/*
 * What the REST facade writes and reads for each type of the contract (rest/encode.ts, rest/decode.ts), as schemas.
 */

const safe = Number.MAX_SAFE_INTEGER;
/** Of either alphabet, with or without its padding. */
const base64 = "^(?:[\\w+/-]{4})*(?:[\\w+/-]{2}(?:==)?|[\\w+/-]{3}=?)?$";

/** A scalar as the facade reads and writes it. */
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
      // JSON holds integers exactly up to 2^53-1.
      return { type: "integer", format: "int64", minimum: -safe, maximum: safe };
  }
}

/** Google's well-known types, which have forms of their own; undefined for any other message. */
export function wellKnownSchema(desc: DescMessage, direction: "read" | "written"): Schema | undefined {
  if (isTimestamp(desc)) {
    // What is written has milliseconds, always; what is read may have more or fewer digits, and any zone.
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

/** The names that stand for an enum's values in JSON, in the order of the contract. The unspecified value has none. */
export function enumNames(desc: DescEnum): { name: string; value: DescEnum["values"][number] }[] {
  return desc.values
    .filter(({ number, name }) => number !== 0 || !name.endsWith("_UNSPECIFIED"))
    .map((value) => ({ name: enumValueName(desc, value.name), value }));
}

/**
 * Whether the facade may write null for a field: it is optional, or one of several. A message too may be absent only where the
 * contract calls it optional, though Protobuf makes no difference there: the tests find one that is absent elsewhere.
 */
export function isNullable(field: DescField): boolean {
  if (field.fieldKind === "list" || field.fieldKind === "map") return false;
  const isWrapper = field.fieldKind === "message" && wrappedScalar(field.message) !== undefined;
  return field.proto.proto3Optional || field.oneof !== undefined || isWrapper;
}
