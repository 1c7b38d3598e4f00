import type { DescField, DescMethod } from "@bufbuild/protobuf";
import type { Tool as Description } from "@modelcontextprotocol/server";
import { comments } from "../../gen/comments.js";
import { tool_argument } from "../../gen/stoa/v1/options_pb.js";
import { Components } from "../api-docs/openapi/components.ts";
import { type Schema, withKeywords } from "../api-docs/openapi/schema.ts";
import type { Binding } from "../contract/bindings.ts";
import { defaultOf } from "../contract/defaults.ts";
import { textPattern } from "../contract/field-rules.ts";
import { getOption } from "../contract/options.ts";
import { rulesOf } from "../contract/rules.ts";

/** How the rest of the service calls the idempotency argument. */
export const idempotencyHeader = "Idempotency-Key";
/** The argument that takes the place of that header. */
export const idempotencyArgument = "idempotency_key";

/** What a list has at most, and how long a body is, if the caller does not say so. */
const usualItems = 20;
const usualChars = 500;

const idempotencySchema: Schema = {
  type: "string",
  minLength: 16,
  maxLength: 128,
  description: "A random UUID. If you get no answer, repeat the call with the same one: it takes effect once.",
};

/** The names of the fields of a request, by the names that they have as arguments of a tool. */
export function argumentsOf({ input }: DescMethod): Map<string, string> {
  return new Map(input.fields.map((field) => [getOption(field, tool_argument) || field.name, field.name]));
}

/** The defaults of a tool by the names of fields, where they are smaller than those of the contract. */
export function defaultsOf({ input }: DescMethod): Map<string, number> {
  const defaults = new Map<string, number>();
  for (const field of input.fields) {
    if (field.name === "limit") defaults.set(field.name, Math.min(usualItems, Number(defaultOf(field) ?? usualItems)));
    if (field.name === "body_chars") defaults.set(field.name, usualChars);
  }
  return defaults;
}

/** What a schema is made of: a call, and its arguments. */
interface Described {
  rpc: DescMethod;
  binding: Binding;
  fields: ReadonlyMap<string, string>;
  defaults: ReadonlyMap<string, number>;
}

/**
 * The schema of a tool's arguments: the fields of its requests. References are resolved and absent arguments are left out
 * instead of being null, because many models' tool interfaces know neither.
 * @param rename changes names in descriptions
 * @throws Error, at start, if a field has the name of the idempotency argument
 */
export function inputSchemaOf(
  calls: readonly Described[],
  rename: (text: string) => string,
): Description["inputSchema"] {
  const properties: Record<string, Schema> = {};
  const required: string[][] = [];
  for (const call of calls) {
    const { rpc, binding, fields } = call;
    const inPath = new Set(binding.path.fields.map((names) => names.join(".")));
    const names = [...fields].map(([argument, name]) => {
      const field = rpc.input.fields.find((each) => each.name === name) as DescField;
      const { schema, isRequired } = describe(field, inPath.has(name), call);
      const other = properties[argument];
      properties[argument] = other === undefined ? schema : inCommon(other, schema);
      return isRequired ? argument : "";
    });
    required.push(names.filter(Boolean));
    if (!rulesOf(rpc).isIdempotentByKey) continue;
    if (fields.has(idempotencyArgument)) throw new Error(`${rpc.name} has a field ${idempotencyArgument}.`);
    properties[idempotencyArgument] = idempotencySchema;
  }
  for (const schema of Object.values(properties)) schema.description = rename(String(schema.description));
  const always = required[0]?.filter((name) => required.every((names) => names.includes(name))) ?? [];
  return {
    type: "object",
    properties,
    ...(always.length > 0 ? { required: always } : {}),
  } as Description["inputSchema"];
}

function describe(field: DescField, isInPath: boolean, { defaults }: Described) {
  const components = new Components();
  const parameter = components.parameter(field);
  const schema = resolve(parameter.schema, components);
  // Not all models' tool interfaces take such a long pattern.
  if (textPattern(field) !== undefined) delete schema.pattern;
  const { examples, ...rest } = isInPath && schema.type === "string" ? { minLength: 1, ...schema } : schema;
  const text = comments[`${field.parent.typeName}.${field.name}`] ?? String(schema.description ?? field.name);
  const description = /^.*?[.:](?= |$)/s.exec(text)?.[0].replace(/:$/, ".") ?? text;
  return {
    schema: withKeywords(rest, { description, default: defaults.get(field.name) ?? rest.default }),
    isRequired: parameter.required || isInPath,
  };
}

/** The keywords that two schemas of the same argument share, with the description of the first. */
function inCommon({ description, ...schema }: Schema, other: Schema): Schema {
  const same = Object.entries(schema).filter(([name, value]) => JSON.stringify(other[name]) === JSON.stringify(value));
  return { ...Object.fromEntries(same), description };
}

/** Replaces references by the schemas that they name. Formats of numbers go: they are OpenAPI's, and unknown to JSON Schema. */
function resolve(schema: Schema, components: Components): Schema {
  const { $ref, format, ...rest } = schema;
  const target = typeof $ref === "string" ? components.schemas[$ref.slice($ref.lastIndexOf("/") + 1)] : undefined;
  const items = rest.items === undefined ? {} : { items: resolve(rest.items as Schema, components) };
  return { ...(target === undefined ? {} : resolve(target as Schema, components)), ...rest, ...items };
}
