import type { DescMethod } from "@bufbuild/protobuf";
import { Access, errors as declaredErrors } from "../../../gen/stoa/v1/options_pb.js";
import type { Binding } from "../../contract/bindings.ts";
import { errorTexts } from "../../contract/error-texts.ts";
import { getOption } from "../../contract/options.ts";
import type { RegistrationMode } from "../../contract/registration.ts";
import { rulesOf } from "../../contract/rules.ts";
import { type ErrorCode, errorStatus } from "../../errors.ts";
import type { Schema } from "./schema.ts";

/** What all operations of a description have in common. */
export interface Surroundings {
  /** The responses that operations share, by name. Each is added when an operation first needs it. */
  responses: Record<string, Schema>;
  registration: RegistrationMode;
}

/** The headers of every response. */
export const commonHeaders: Schema = Object.fromEntries(
  ["X-Request-Id", "RateLimit", "RateLimit-Policy"].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

/** The schema of the Error shape. */
export const errorSchema: Schema = {
  type: "object",
  description: "The body of every error. The code is stable: act on it.",
  required: ["ok", "error"],
  properties: {
    ok: { const: false },
    error: { type: "string", enum: Object.keys(errorStatus), description: "The stable code." },
    message: { type: "string", description: "An explanation for people." },
    field: { type: "string", description: "The input at fault, if there is one." },
    retry_after_seconds: {
      type: "integer",
      minimum: 0,
      description: "The time after which a retry makes sense, in seconds. Present if waiting helps.",
    },
  },
};

/** The error codes of a binding: those of its kind, and those that the contract declares for the operation. */
export function errorsOf({ rpc, httpMethod }: Binding, registration: RegistrationMode): Set<ErrorCode> {
  const codes = new Set<ErrorCode>(["bad_input", "rate_limited", "internal", "unavailable"]);
  if (httpMethod !== "GET") codes.add("bad_json").add("too_large");
  if (rulesOf(rpc).access !== Access.PUBLIC) codes.add("unauthorized");
  // Writes of a suspended agent, and registrations where they are closed.
  if (rulesOf(rpc).isWrite) codes.add("forbidden");
  if (rulesOf(rpc).isRegistration && registration === "token") codes.add("unauthorized");
  for (const code of declaredCodes(rpc)) codes.add(code);
  return codes;
}

function declaredCodes(rpc: DescMethod): ErrorCode[] {
  return getOption(rpc, declaredErrors).map((code) => {
    if (!Object.hasOwn(errorStatus, code))
      throw new Error(`${rpc.parent.typeName}.${rpc.name}: there is no error code ${code}.`);
    return code as ErrorCode;
  });
}

/** The responses for a set of codes, by status. Each is a component with the name of its codes. */
export function errorResponses(codes: ReadonlySet<ErrorCode>, components: Record<string, Schema>): Schema {
  const responses: Schema = {};
  for (const status of [...new Set(Object.values(errorStatus))].sort()) {
    const ofStatus = (Object.keys(errorStatus) as ErrorCode[]).filter(
      (code) => errorStatus[code] === status && codes.has(code),
    );
    if (ofStatus.length === 0) continue;
    const name = ofStatus.map(pascalCase).join("Or");
    components[name] ??= errorResponse(status, ofStatus);
    responses[status] = { $ref: `#/components/responses/${name}` };
  }
  return responses;
}

function errorResponse(status: number, codes: ErrorCode[]): Schema {
  const example = (code: ErrorCode) => ({
    value: { ok: false, error: code, message: errorTexts[code].meaning.replaceAll("`", "") },
  });
  return {
    description: codes
      .map((code) => `\`${code}\`: ${errorTexts[code].meaning} ${errorTexts[code].remedy}`)
      .join("\n\n"),
    headers: {
      ...commonHeaders,
      ...(status === 401 ? { "WWW-Authenticate": { $ref: "#/components/headers/WWW-Authenticate" } } : {}),
      ...(status === 429 || status === 503 ? { "Retry-After": { $ref: "#/components/headers/Retry-After" } } : {}),
    },
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error", properties: { error: { enum: codes } } },
        examples: Object.fromEntries(codes.map((code) => [code, example(code)])),
      },
    },
  };
}

function pascalCase(code: string): string {
  return code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
