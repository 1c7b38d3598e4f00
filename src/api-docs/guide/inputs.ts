import { type DescEnum, type DescField, getOption, ScalarType } from "@bufbuild/protobuf";
import type { FieldRules } from "../../../gen/buf/validate/validate_pb.js";
import { default_value } from "../../../gen/stoa/v1/options_pb.js";
import type { Binding } from "../../contract/bindings.ts";
import { enumValueName } from "../../transcoding/encode.ts";
import { rulesOf } from "./contract.ts";

/** Every input of a call in words: `` `limit`? 1 to 50, default 25 ``; a question mark says that it may be left out. */
export function describeInputs({ rpc, path }: Binding): string {
  const inPath = new Set(path.fields.map(([name]) => name));
  return rpc.input.fields
    .map((field) => {
      const mark = inPath.has(field.name) || rulesOf(field).required ? "" : "?";
      return [`\`${field.name}\`${mark}`, describeRules(field)].filter(Boolean).join(" ");
    })
    .join("; ");
}

/** What a field may hold, and what it stands for when it is absent. */
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
      const least = value.greaterThan.case === "gte" ? Number(value.greaterThan.value) : undefined;
      const most = value.lessThan.case === "lte" ? Number(value.lessThan.value) : undefined;
      return describeRange(least, most === Number.MAX_SAFE_INTEGER ? undefined : most);
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

function describeRange(least: number | undefined, most: number | undefined, unit = ""): string {
  if (most !== undefined) return `${least === undefined ? "up" : formatNumber(least)} to ${formatNumber(most)}${unit}`;
  if (least === undefined) return "";
  return least === 0 ? "0 or more" : `at least ${formatNumber(least)}${unit}`;
}

/** 10000 is 10,000. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** `a, b or c` */
export function joinWords(values: string[], conjunction = "or"): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} ${conjunction} ${values.at(-1)}`;
}
