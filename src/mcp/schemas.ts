import type { DescMessage } from "@bufbuild/protobuf";
import { comments } from "../../gen/comments.js";
import { Components } from "../api-docs/openapi/components.ts";
import { type Schema, withKeywords } from "../api-docs/openapi/schema.ts";
import type { Binding } from "../contract/bindings.ts";
import { textPattern } from "../contract/field-words.ts";
import { rulesOf } from "../contract/rules.ts";

/** How the rest of the service calls the idempotency argument. */
export const idempotencyHeader = "Idempotency-Key";
/** The argument that takes the place of that header. */
export const idempotencyArgument = "idempotency_key";

const idempotencySchema: Schema = {
  type: "string",
  minLength: 16,
  maxLength: 128,
  pattern: "^[!-~]*$",
  description:
    "Makes it safe to repeat the call: choose a random UUID for it, and repeat the call with the same UUID if you get no" +
    " answer. For 24 hours, the repeat has no further effect and gets the first answer.",
};

/**
 * The schema of a tool's arguments: the fields of its RPC's request. References are resolved and absent arguments are left
 * out instead of being null, because many models' tool interfaces know neither.
 * @throws Error, at start, if a field has the name of the idempotency argument
 */
export function inputSchemaOf({ rpc, path }: Binding): Schema {
  const components = new Components();
  const inPath = new Set(path.fields.map((names) => names.join(".")));
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const field of rpc.input.fields) {
    const parameter = components.parameter(field);
    const isInPath = inPath.has(field.name);
    const schema = resolve(parameter.schema, components);
    // Not all models' tool interfaces take such a long pattern; the description of the field says the same.
    if (textPattern(field) !== undefined) delete schema.pattern;
    const nonEmpty = isInPath && schema.type === "string" ? { minLength: 1 } : {};
    if (parameter.required || isInPath) required.push(field.name);
    properties[field.name] = withKeywords(
      { ...nonEmpty, ...schema },
      { description: comments[`${field.parent.typeName}.${field.name}`] ?? schema.description },
    );
  }
  if (rulesOf(rpc).isIdempotentByKey) {
    if (idempotencyArgument in properties) throw new Error(`${rpc.name} has a field ${idempotencyArgument}.`);
    properties[idempotencyArgument] = idempotencySchema;
  }
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

/** The schema of a tool's structured result: the JSON of the REST response. Examples and descriptions are left out. */
export function outputSchemaOf(desc: DescMessage): Schema {
  const components = new Components();
  return shorten(resolve(components.reply(desc), components));
}

/** Replaces references by the schemas that they name. A schema that contains itself accepts anything there. */
function resolve(schema: Schema, components: Components, above: readonly string[] = []): Schema {
  const { $ref, ...rest } = schema;
  if (typeof $ref === "string") {
    if (above.includes($ref)) return {};
    const target = components.schemas[$ref.slice($ref.lastIndexOf("/") + 1)] as Schema;
    return { ...resolve(target, components, [...above, $ref]), ...rest };
  }
  return Object.fromEntries(
    Object.entries(schema)
      // OpenAPI's formats of numbers are unknown to JSON Schema.
      .filter(([name, value]) => !(name === "format" && /^int/.test(String(value))))
      .map(([name, value]) => [name, resolveAny(value, components, above)]),
  );
}

function resolveAny(value: unknown, components: Components, above: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((each) => resolveAny(each, components, above));
  return typeof value === "object" && value !== null ? resolve(value as Schema, components, above) : value;
}

/** Leaves out what explains. The members of `properties` are names, and stay. */
function shorten(schema: Schema): Schema {
  const { examples, description, ...rest } = schema;
  const shortened = (value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? shorten(value as Schema) : value;
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => {
      if (name === "properties") {
        const members = Object.entries(value as Record<string, Schema>);
        return [name, Object.fromEntries(members.map(([member, each]) => [member, shorten(each)]))];
      }
      return [name, Array.isArray(value) ? value.map(shortened) : shortened(value)];
    }),
  );
}
