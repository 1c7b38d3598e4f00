// The rules of fields in words: errors and the guide for agents say them.
import { type DescEnum, type DescField, ScalarType } from "@bufbuild/protobuf";
import { field as fieldRules } from "../../gen/buf/validate/validate_pb.js";
import { allowed } from "../../gen/stoa/v1/options_pb.js";
import { getOption } from "./options.ts";

/** The name of an enum value in JSON: FEED_SORT_HOT is `hot`. */
export function enumValueName(desc: DescEnum, name: string): string {
  const prefix = desc.sharedPrefix ?? "";
  return (name.toLowerCase().startsWith(prefix) ? name.slice(prefix.length) : name).toLowerCase();
}

/** The values of an enum in words: `hot, new or top`. The unspecified value is none of them. */
export function enumValueNames(desc: DescEnum, quote = ""): string {
  const values = desc.values.filter(({ number }) => number !== 0);
  return joinWords(values.map(({ name }) => quote + enumValueName(desc, name) + quote));
}

/**
 * What the rules of a field allow, in words: `3 to 300 characters`, `1 to 50`, `hot, new or top`. Empty if that is plain from
 * its type.
 * @param quote what stands around the names of values
 */
export function allowedValues(field: DescField, quote = ""): string {
  const { required, type } = getOption(field, fieldRules);
  if (field.fieldKind === "enum") return enumValueNames(field.enum, quote);
  switch (type.case) {
    case "string": {
      const { minLen, maxLen } = type.value;
      const characters = getOption(field, allowed);
      if (minLen + maxLen === 0n) return characters;
      return rangeWords(
        Number(minLen) || (required ? 1 : undefined),
        Number(maxLen) || undefined,
        ` ${characters || "characters"}`,
      );
    }
    case "int64": {
      const { min, max } = boundsOf(type.value);
      return rangeWords(min, max === Number.MAX_SAFE_INTEGER ? undefined : max);
    }
    case "int32":
      return joinWords(type.value.in.map(String));
    case "repeated":
      return rangeWords(required ? 1 : undefined, Number(type.value.maxItems), " entries");
    default:
      return field.scalar === ScalarType.BOOL ? "true or false" : "";
  }
}

/** Whether a field, or each entry of it, has rules of integers, so that `ruleSentence` says what integers it takes. */
export function hasIntegerRules(field: DescField): boolean {
  const { type } = getOption(field, fieldRules);
  if (type.case === "repeated") return type.value.items?.type.case === "int64";
  return type.case === "int64" || type.case === "int32";
}

/**
 * The sentence for a caller that breaks a rule of a field.
 * @param name what the sentence calls the field
 * @param isEntry whether an entry of the list that it is breaks the rule of entries
 */
export function ruleSentence(field: DescField, name: string, isEntry = false): string {
  const rules = getOption(field, fieldRules);
  const ofEntries = isEntry && rules.type.case === "repeated" ? rules.type.value.items : undefined;
  const { required, type } = ofEntries ?? rules;
  if (type.case === "int64") return `${name} must be an integer${integerRange(boundsOf(type.value))}.`;
  const values = allowedValues(field);
  if (values === "") return required ? `${name} must not be empty.` : `${name} is not valid.`;
  const isMeasured = (type.case === "string" && getOption(field, allowed) === "") || type.case === "repeated";
  return `${name} must ${isMeasured ? "have" : "be"} ${values}.`;
}

interface Bounds {
  min: number | undefined;
  max: number | undefined;
}

type Int64Bound = { case: string | undefined; value?: unknown };

function boundsOf({ greaterThan, lessThan }: { greaterThan: Int64Bound; lessThan: Int64Bound }): Bounds {
  return {
    min: greaterThan.case === "gte" ? Number(greaterThan.value) : undefined,
    max: lessThan.case === "lte" ? Number(lessThan.value) : undefined,
  };
}

function integerRange({ min, max }: Bounds): string {
  if (max !== undefined) return `${min === undefined ? " up" : ` from ${formatNumber(min)}`} to ${formatNumber(max)}`;
  return min === undefined ? "" : `, ${formatNumber(min)} or more`;
}

function rangeWords(min: number | undefined, max: number | undefined, unit = ""): string {
  if (max !== undefined)
    return `${min === undefined ? "at most" : `${formatNumber(min)} to`} ${formatNumber(max)}${unit}`;
  if (min === undefined) return "";
  return min === 0 ? "0 or more" : `at least ${formatNumber(min)}${unit}`;
}

/** Writes 10000 as 10,000. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** Joins words to a list such as `a, b or c`. */
export function joinWords(values: string[]): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}
