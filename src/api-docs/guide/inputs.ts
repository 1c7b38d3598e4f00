import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { default_value } from "../../../gen/stoa/v1/options_pb.js";
import type { Binding } from "../../contract/bindings.ts";
import { allowedValues, enumValueName, formatNumber } from "../../contract/field-words.ts";
import { getOption } from "../../contract/options.ts";
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

/** How the rules of a number in a path are described. The guide says it once, for all of them. */
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
  return [allowedValues(field, "`"), text === "" ? "" : `default ${describeDefault(field, text)}`]
    .filter(Boolean)
    .join(", ");
}

function describeDefault(field: DescField, text: string): string {
  if (field.fieldKind === "enum") return `\`${enumValueName(field.enum, text)}\``;
  return field.scalar === ScalarType.STRING ? `\`${text}\`` : formatNumber(Number(text));
}
