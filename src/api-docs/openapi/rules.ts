import { type DescField, hasOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { type FieldRules, FieldRulesSchema, field as fieldRules } from "../../../gen/buf/validate/validate_pb.js";
import { textPattern } from "../../contract/field-rules.ts";
import { getOption } from "../../contract/options.ts";
import type { Schema } from "./schema.ts";

/** The keywords of JSON Schema for the rules of buf.validate. */
const keywordOf: Record<string, string> = {
  gte: "minimum",
  gt: "exclusiveMinimum",
  lte: "maximum",
  lt: "exclusiveMaximum",
  min_len: "minLength",
  max_len: "maxLength",
  pattern: "pattern",
  const: "const",
  in: "enum",
  min_items: "minItems",
  max_items: "maxItems",
};

interface FieldSchema {
  /** Whether absent values and null are refused. */
  required: boolean;
  keywords: Schema;
  /** The keywords of the elements of a list. */
  items: Schema;
}

/** The contract's rules of a field. @throws Error for a rule without a keyword: at start */
export function rulesOf(field: DescField): FieldSchema {
  const pattern = textPattern(field);
  const ofText: Schema = pattern === undefined ? {} : { pattern };
  if (!hasOption(field, fieldRules)) return { required: isRequired(field, ofText), keywords: ofText, items: {} };
  const { required, type } = getOption(field, fieldRules);
  const keywords = { ...ofText, ...keywordsOf(field, type) };
  const items =
    type.case === "repeated" && type.value.items !== undefined ? keywordsOf(field, type.value.items.type) : {};
  if (required && field.scalar !== undefined && typeof zeroOf(field) === "string") keywords.minLength ??= 1;
  return { required: required || isRequired(field, keywords), keywords, items };
}

function keywordsOf(field: DescField, type: FieldRules["type"]): Schema {
  const keywords: Schema = {};
  const desc = FieldRulesSchema.fields.find(({ localName }) => localName === type.case)?.message;
  if (type.value === undefined || desc === undefined) return keywords;
  const rules = reflect(desc, type.value as Message);
  for (const rule of rules.fields.filter((each) => rules.isSet(each) && each.name !== "items")) {
    // The schema of an enum lists the names of its values, without the unspecified one.
    if (field.enum !== undefined && (rule.name === "defined_only" || isNotInZero(rule.name, rules.get(rule)))) continue;
    const keyword = keywordOf[rule.name];
    if (keyword === undefined || field.enum !== undefined) {
      throw new Error(`${field.parent.typeName}.${field.name}: the API description has no keyword for ${rule.name}.`);
    }
    keywords[keyword] = toJson(rules.get(rule));
  }
  return keywords;
}

function isNotInZero(name: string, value: unknown): boolean {
  return name === "not_in" && JSON.stringify(toJson(value)) === "[0]";
}

/** Absent fields without presence are checked as their zero value. */
function isRequired(field: DescField, keywords: Schema): boolean {
  if (field.fieldKind !== "scalar" || field.proto.proto3Optional || field.oneof !== undefined) return false;
  const zero = zeroOf(field);
  if (typeof zero === "string") {
    const { minLength = 0, pattern = "" } = keywords as { minLength?: number; pattern?: string };
    return minLength > 0 || !new RegExp(pattern, "u").test("");
  }
  const {
    minimum = 0,
    maximum = 0,
    enum: values,
  } = keywords as { minimum?: number; maximum?: number; enum?: number[] };
  return minimum > 0 || maximum < 0 || (values !== undefined && !values.includes(0));
}

function zeroOf(field: DescField): unknown {
  return field.fieldKind === "scalar"
    ? (field.getDefaultValue() ?? (field.scalar === ScalarType.STRING ? "" : 0))
    : undefined;
}

function toJson(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "object" && value !== null) return [...(value as Iterable<unknown>)].map(toJson);
  return value;
}
