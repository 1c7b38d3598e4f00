import { type DescField, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { field as fieldRules } from "../../gen/buf/validate/validate_pb.js";

/** What any message may take besides its longest strings, in bytes: other fields, unknown fields, strings without a rule. */
const allowance = 16 * 1024;
/** The longest UTF-8 form of a code point, in bytes. */
const bytesPerCharacter = 4;

/**
 * The largest binary form of a message that is worth reading: twice what the field rules of the contract allow, so that a
 * string that is too long is still read and refused for what it is. A binary message is cheap to send and dear to read
 * where it consists of many small fields; in JSON escapes may make a good message large, so JSON has no such limit.
 * @param upperLimit what no message may exceed, in bytes
 * @returns a size in bytes
 */
export function maxBinarySize(desc: DescMessage, upperLimit: number): number {
  return Math.min(upperLimit, allowance + 2 * stringBytes(desc));
}

/** The size of a message's strings at their longest; infinite for what the contract does not bound. */
function stringBytes(desc: DescMessage, within: readonly DescMessage[] = []): number {
  // A message that may hold itself, such as google.protobuf.Struct, has no longest form.
  if (within.includes(desc)) return Number.POSITIVE_INFINITY;
  return desc.fields.reduce((sum, field) => sum + fieldBytes(field, [...within, desc]), 0);
}

function fieldBytes(field: DescField, within: readonly DescMessage[]): number {
  if (field.fieldKind === "message") return stringBytes(field.message, within);
  if (field.fieldKind !== "scalar") return field.fieldKind === "enum" ? 0 : Number.POSITIVE_INFINITY;
  const { type } = hasOption(field, fieldRules) ? getOption(field, fieldRules) : { type: undefined };
  return type?.case === "string" ? Number(type.value.maxLen ?? 0n) * bytesPerCharacter : 0;
}
