/** A JSON Schema (2020-12), as in OpenAPI 3.1. */
export interface Schema {
  [keyword: string]: unknown;
}

/** A schema that also accepts null. */
export function nullable(schema: Schema): Schema {
  if (typeof schema.type !== "string") return { anyOf: [schema, { type: "null" }] };
  const { enum: values, ...rest } = schema;
  return { ...rest, type: [schema.type, "null"], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

/** Adds keywords to a schema, except those that are undefined or empty. JSON Schema allows keywords beside `$ref`. */
export function withKeywords(schema: Schema, keywords: Schema): Schema {
  const given = Object.entries(keywords).filter(([, value]) => value !== undefined && value !== "");
  return { ...schema, ...Object.fromEntries(given) };
}
