import { type DescField, hasOption, ScalarType } from "@bufbuild/protobuf";
import { default_value } from "../../../gen/stoa/v1/options_pb.js";
import { enumValueName } from "../../contract/field-words.ts";
import { getOption } from "../../contract/options.ts";

/** The default value of a field, as JSON has it; undefined if the contract names none. */
export function defaultOf(field: DescField): string | number | undefined {
  if (!hasOption(field, default_value)) return undefined;
  const text = getOption(field, default_value);
  if (field.enum !== undefined) return enumValueName(field.enum, text);
  return /^-?\d+$/.test(text) && field.scalar !== ScalarType.STRING ? Number(text) : text;
}
