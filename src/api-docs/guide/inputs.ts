import { type DescEnum, type DescField, getOption, ScalarType } from "@bufbuild/protobuf";
import type { FieldRules } from "../../../gen/buf/validate/validate_pb.js";
import { default_value } from "../../../gen/stoa/v1/options_pb.js";
import type { Binding } from "../../contract/bindings.ts";
import { enumValueName } from "../../transcoding/index.ts";
import { rulesOf } from "./contract.ts";

/**
 * Describes the inputs of a call that are not plain from its path: `` `limit`? 1 to 50, default 25 ``. A question mark marks
 * optional inputs. Rules that `common` has under the same name are left out.
 */
export function describeInputs(binding: Binding, common: ReadonlyMap<string, string>): string {
  return binding.rpc.input.fields
    .map((field) => {
      const isInPath = hasInPath(binding, field);
      const rules = describeRules(field);
      if (isInPath && (rules === "" || rules === numberInPath)) return "";
      const mark = isInPath || rulesOf(field).required ? "" : "?";
      return `\`${field.name}\`${mark}${rules === "" || rules === common.get(field.name) ? "" : ` ${rules}`}`;
    })
    .filter(Boolean)
    .join("; ");
}

/** What the rules of the numbers in paths are described as. The guide says it once for all of them. */
export const numberInPath = "at least 1";

/** The rules that several calls have for an input of the same name, by that name: the most frequent ones. */
export function findCommonRules(bindings: readonly Binding[]): Map<string, string> {
  const seen = new Map<string, string[]>();
  for (const binding of bindings) {
    for (const field of binding.rpc.input.fields.filter((each) => !hasInPath(binding, each))) {
      seen.set(field.name, [...(seen.get(field.name) ?? []), describeRules(field)]);
    }
  }
  const common = new Map<string, string>();
  for (const [name, all] of seen) {
    const count = (rules: string) => all.filter((each) => each === rules).length;
    const [most = ""] = all.toSorted((a, b) => count(b) - count(a));
    // An input without any rules would look as if it had the common ones.
    if (count(most) > 1 && !all.includes("")) common.set(name, most);
  }
  return common;
}

function hasInPath({ path }: Binding, { name }: DescField): boolean {
  return path.fields.some(([first]) => first === name);
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
function joinWords(values: string[]): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}
