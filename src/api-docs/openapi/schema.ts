/** A JSON Schema (2020-12), as OpenAPI 3.1 has it. */
export interface Schema {
  [keyword: string]: unknown;
}

/** `null` besides. */
export function nullable(schema: Schema): Schema {
  if (typeof schema.type !== "string") return { anyOf: [schema, { type: "null" }] };
  const { enum: values, ...rest } = schema;
  return { ...rest, type: [schema.type, "null"], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

/** With keywords added, those that are undefined left out; an annotation beside `$ref` is allowed. */
export function withKeywords(schema: Schema, keywords: Schema): Schema {
  const given = Object.entries(keywords).filter(([, value]) => value !== undefined && value !== "");
  return { ...schema, ...Object.fromEntries(given) };
}
