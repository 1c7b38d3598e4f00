import { type DescField, type DescMessage, hasOption } from "@bufbuild/protobuf";
import { example } from "../../../gen/stoa/v1/options_pb.js";
import { getOption } from "../../contract/options.ts";
import { isOmittedWhenUnset } from "../../contract/rules.ts";
import { defaultOf } from "./defaults.ts";
import { rulesOf } from "./rules.ts";
import { enumNames, isNullable, scalarSchema, wellKnownSchema } from "./types.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Example = { [name: string]: Json };

/** The maximum depth of examples. It ends the example of a message that holds itself. */
const maxDepth = 6;

/**
 * An example of a message, or of some of its fields. Its members are those of the contract's example; others are generated
 * from their types. Examples of requests have only the contract's members and the required ones. Undefined if no valid value
 * can be generated.
 */
export function exampleOf(
  desc: DescMessage,
  role: "reply" | "part" | "request",
  fields: readonly DescField[] = desc.fields,
  depth = 0,
): Example | undefined {
  const shown = declaredExample(desc);
  const result: Example = role === "reply" ? { ok: true } : {};
  for (const field of fields) {
    const given = shown[field.name];
    if (given === undefined && (role === "request" ? !rulesOf(field).required : isOmittedWhenUnset(field))) continue;
    const value = given === undefined ? generateValue(field, role === "request" ? role : "part", depth) : given;
    if (value === undefined) return undefined;
    result[field.name] = value;
  }
  return result;
}

/** An example for a parameter: one field of a request. */
export function parameterExample(field: DescField): Json | undefined {
  return (
    declaredExample(field.parent)[field.name] ??
    (rulesOf(field).required ? generateValue(field, "request", 0) : undefined)
  );
}

/** The example in the contract. @throws Error if it has a member that the message does not have: at start */
function declaredExample(desc: DescMessage): Example {
  if (!hasOption(desc, example)) return {};
  const shown = JSON.parse(getOption(desc, example)) as Example;
  for (const name of Object.keys(shown)) {
    if (!desc.fields.some((field) => field.name === name)) throw new Error(`${desc.typeName} has no ${name} to show.`);
  }
  return shown;
}

function generateValue(field: DescField, role: "part" | "request", depth: number): Json | undefined {
  if (field.fieldKind === "map") return {};
  if (isNullable(field) && role === "part") return null;
  if (field.enum !== undefined) return wrap(field, enumNames(field.enum)[0]?.name);
  if (field.message === undefined) return wrap(field, defaultOf(field) ?? generateScalar(field));
  const known = wellKnownSchema(field.message, "written");
  if (known === undefined)
    return depth < maxDepth ? wrap(field, exampleOf(field.message, role, field.message.fields, depth + 1)) : undefined;
  if (known.format === "date-time") return wrap(field, "2026-11-21T09:30:00.000Z");
  return known.type === "object" ? wrap(field, {}) : undefined;
}

function wrap(field: DescField, value: Json | undefined): Json | undefined {
  return field.fieldKind === "list" && value !== undefined ? [value] : value;
}

function generateScalar(field: DescField): Json | undefined {
  const { keywords } = rulesOf(field);
  const { minimum = 1, minLength = 0, maxLength = 6, pattern = "" } = keywords as Record<string, never>;
  const values = keywords.enum as Json[] | undefined;
  if (values !== undefined) return values[0];
  const { type } = scalarSchema(field.scalar as NonNullable<typeof field.scalar>);
  if (type === "boolean") return true;
  if (type === "integer") return Math.max(1, minimum);
  if (type !== "string") return undefined;
  const text = "string".slice(0, maxLength).padEnd(minLength, "g");
  return new RegExp(pattern, "u").test(text) ? text : undefined;
}
