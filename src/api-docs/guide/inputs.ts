import { type DescEnum, type DescField, getOption, ScalarType } from "@bufbuild/protobuf";
import type { FieldRules } from "../../../gen/buf/validate/validate_pb.js";
import { default_value } from "../../../gen/stoa/v1/options_pb.js";
import type { Binding } from "../../contract/bindings.ts";
import { enumValueName } from "../../transcoding/index.ts";
import { rulesOf } from "./contract.ts";

/** Describes the inputs of a call: `` `limit`? 1 to 50, default 25 ``. A question mark marks optional inputs. */
export function describeInputs({ rpc, path }: Binding): string {
  const inPath = new Set(path.fields.map(([name]) => name));
  return rpc.input.fields
    .map((field) => {
      const mark = inPath.has(field.name) || rulesOf(field).required ? "" : "?";
      return [`\`${field.name}\`${mark}`, describeRules(field)].filter(Boolean).join(" ");
    })
    .join("; ");
}

/** Describes the values that a field may have, and its default. */
export function describeRules(field: DescField): string {
  const text = getOption(field, default_value);
  return [describeValues(field), text === "" ? "" : `default ${describeDefault(field, text)}`]
    .filter(Boolean)
    .join(", ");
}

function describeDefault(field: DescField, text: string): string {
  if (field.fieldKind === "enum") return `\`${enumValueName(field.enum, text)}\``;
  return field.scalar === ScalarType.STRING ? `\`${text}\`` : formatNumber(Number(text));
}

function describeValues(field: DescField): string {
  const rules = rulesOf(field);
  if (field.fieldKind === "enum") return describeEnum(field.enum, rules);
  if (field.fieldKind !== "scalar") return "";
  const { case: kind, value } = rules.type;
  switch (kind) {
    case "string":
      return [
        describeRange(Number(value.minLen) || undefined, Number(value.maxLen) || undefined, " characters"),
        value.pattern && `\`${value.pattern}\``,
      ]
        .filter(Boolean)
        .join(" ");
    case "int64": {
      const min = value.greaterThan.case === "gte" ? Number(value.greaterThan.value) : undefined;
      const max = value.lessThan.case === "lte" ? Number(value.lessThan.value) : undefined;
      return describeRange(min, max === Number.MAX_SAFE_INTEGER ? undefined : max);
    }
    case "int32":
      return joinWords(value.in.map(String));
    default:
      return field.scalar === ScalarType.BOOL ? "true or false" : "";
  }
}

function describeEnum(desc: DescEnum, { type }: FieldRules): string {
  const excluded = type.case === "enum" ? type.value.notIn : [];
  const values = desc.values.filter(({ number }) => !excluded.includes(number));
  return joinWords(values.map(({ name }) => `\`${enumValueName(desc, name)}\``));
}

function describeRange(min: number | undefined, max: number | undefined, unit = ""): string {
  if (max !== undefined) return `${min === undefined ? "up" : formatNumber(min)} to ${formatNumber(max)}${unit}`;
  if (min === undefined) return "";
  return min === 0 ? "0 or more" : `at least ${formatNumber(min)}${unit}`;
}

/** Writes 10000 as 10,000. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** Joins words to a list such as `a, b or c`. */
export function joinWords(values: string[], conjunction = "or"): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} ${conjunction} ${values.at(-1)}`;
}
