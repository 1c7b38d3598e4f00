import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { field as fieldRules } from "../../gen/buf/validate/validate_pb.js";
import { getOption } from "./options.ts";

/** The bytes for everything but bounded strings: other fields, unknown fields, strings without a rule. */
const allowance = 16 * 1024;
/** The maximum length of a code point in UTF-8, in bytes. */
const bytesPerCharacter = 4;
/** The maximum length of a number in a list, in bytes. */
const bytesPerNumber = 10;

/** The scalars that are no numbers. */
export const textual: ReadonlySet<ScalarType> = new Set([ScalarType.STRING, ScalarType.BYTES]);

/** How many entries a list may have by the rules of the contract; undefined if as many as a message can hold. */
export function maxItemsOf(field: DescField): number | undefined {
  const { type } = getOption(field, fieldRules);
  return type.case === "repeated" ? Number(type.value.maxItems) || undefined : undefined;
}

/**
 * The maximum size of a message in binary form: the allowance, and twice what the field rules of the contract allow its
 * strings and lists of numbers. So one that is too long is still read, and the error names its field. A binary message of many
 * small fields is cheap to send but expensive to read. JSON has no such limit, because escapes can make a valid message large.
 * @param upperLimit the maximum for every message, in bytes
 * @returns a size in bytes
 */
export function maxBinarySize(desc: DescMessage, upperLimit: number): number {
  return Math.min(upperLimit, allowance + 2 * stringBytes(desc));
}

/**
 * The maximum size of a message's strings and lists of numbers, in bytes; infinite with another list, a map, or a message that
 * holds itself. A string without a rule counts as nothing: it is within the allowance.
 */
function stringBytes(desc: DescMessage, within: readonly DescMessage[] = []): number {
  // A recursive message, such as google.protobuf.Struct, has no maximum size.
  if (within.includes(desc)) return Number.POSITIVE_INFINITY;
  return desc.fields.reduce((sum, field) => sum + fieldBytes(field, [...within, desc]), 0);
}

function fieldBytes(field: DescField, within: readonly DescMessage[]): number {
  if (field.fieldKind === "message") return stringBytes(field.message, within);
  if (field.fieldKind === "list" && field.listKind === "scalar" && !textual.has(field.scalar)) {
    return (maxItemsOf(field) ?? Number.POSITIVE_INFINITY) * bytesPerNumber;
  }
  if (field.fieldKind !== "scalar") return field.fieldKind === "enum" ? 0 : Number.POSITIVE_INFINITY;
  const { type } = getOption(field, fieldRules);
  return type.case === "string" ? Number(type.value.maxLen) * bytesPerCharacter : 0;
}
