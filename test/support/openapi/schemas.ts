import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { contractServices } from "../../../scripts/lib/contract.ts";
import { describeApi } from "../../../src/api-docs/openapi/document.ts";
import type { Schema } from "../../../src/api-docs/openapi/schema.ts";

/** The published description of the whole contract, without an address. */
export const description = describeApi(await contractServices()) as unknown as Description;

/** The description that a service publishes if registrations need a token. */
export const descriptionWithToken = describeApi(await contractServices(), "token") as unknown as Description;

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

/** Validates values by the schemas of a description, which refer to each other by name. */
export class SchemaChecks {
  readonly #closed = newAjv();
  readonly #open = newAjv();
  readonly #compiled = new Map<unknown, WeakMap<Schema, ValidateFunction>>();

  constructor(schemas: Readonly<Record<string, Schema>>) {
    for (const [name, schema] of Object.entries(schemas)) {
      this.#closed.addSchema(adapt(schema, true) as Schema, idOf(name));
      this.#open.addSchema(adapt(schema, false) as Schema, idOf(name));
    }
  }

  /** What is wrong with a reply by its schema, also members that it does not describe; undefined if nothing is wrong. */
  faultOfReply(schema: Schema, value: unknown): string | undefined {
    return this.#fault(this.#closed, schema, value);
  }

  /** The same for a request, which may have further members. */
  faultOfRequest(schema: Schema, value: unknown): string | undefined {
    return this.#fault(this.#open, schema, value);
  }

  #fault(ajv: Ajv2020, schema: Schema, value: unknown): string | undefined {
    const compiled = this.#compiled.get(ajv) ?? new WeakMap<Schema, ValidateFunction>();
    this.#compiled.set(ajv, compiled);
    const validate = compiled.get(schema) ?? ajv.compile(adapt(schema, ajv === this.#closed) as Schema);
    compiled.set(schema, validate);
    return validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: "it" });
  }
}

function newAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  return addFormats.default(ajv) as Ajv2020;
}

function idOf(name: string): string {
  return `https://stoa.invalid/${name}`;
}

/** References lead to the schemas by name. In a closed schema, an object has only the described members. */
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

const checks = new SchemaChecks(description.components.schemas);
export const faultOfReply = checks.faultOfReply.bind(checks);
export const faultOfRequest = checks.faultOfRequest.bind(checks);
