import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { contractServices } from "../../../scripts/lib/contract.ts";
import { describeApi } from "../../../src/http/openapi/document.ts";
import type { Schema } from "../../../src/http/openapi/schema.ts";

/** The description of the whole contract, as the service publishes it, with the address still open. */
export const description = describeApi(await contractServices()) as unknown as Description;

export interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; schema: Schema; example?: unknown }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Response & { $ref?: string }>;
  security: object[];
}

export interface Response {
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, { schema?: Schema }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: {
    headers: Record<string, { required?: boolean }>;
    responses: Record<string, Response>;
    schemas: Record<string, Schema>;
  };
}

const prefix = "#/components/schemas/";
const closed = newAjv();
const open = newAjv();
for (const [name, schema] of Object.entries(description.components.schemas)) {
  closed.addSchema(adapt(schema, true) as Schema, idOf(name));
  open.addSchema(adapt(schema, false) as Schema, idOf(name));
}

function newAjv() {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  return addFormats.default(ajv);
}

function idOf(name: string): string {
  return `https://stoa.invalid/${name}`;
}

/** References lead to the schemas by name; closed, an object has no members but those that are described. */
function adapt(schema: unknown, close: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((each) => adapt(each, close));
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) =>
    key === "$ref" ? [key, idOf(String(value).slice(prefix.length))] : [key, adapt(value, close)],
  );
  const adapted = Object.fromEntries(entries);
  return close && adapted.type === "object" && "properties" in schema
    ? { ...adapted, unevaluatedProperties: false }
    : adapted;
}

const validators = new WeakMap<Schema, ValidateFunction>();

/** What is wrong with a reply by its schema, members that it does not describe included; undefined when nothing is. */
export function faultOfReply(schema: Schema, value: unknown): string | undefined {
  return fault(closed, schema, value, true);
}

/** The same for what a request holds, which may have further members. */
export function faultOfRequest(schema: Schema, value: unknown): string | undefined {
  return fault(open, schema, value, false);
}

function fault(ajv: typeof closed, schema: Schema, value: unknown, close: boolean): string | undefined {
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = ajv.compile(adapt(schema, close) as Schema);
    validators.set(schema, validate);
  }
  return validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: "it" });
}
