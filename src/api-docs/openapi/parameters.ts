import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { comments } from "../../../gen/comments.js";
import { type Binding, fieldAt, isTaggedRead } from "../../contract/bindings.ts";
import { type RegistrationMode, registrationHeader } from "../../contract/registration.ts";
import { rulesOf } from "../../contract/rules.ts";
import { isQueryField, resumingField } from "../../transcoding/index.ts";
import { type Components, describeValues } from "./components.ts";
import { parameterExample } from "./examples.ts";
import { type Schema, withKeywords } from "./schema.ts";

/** The parameters of a binding: in the path, in the query and in headers. */
export function parametersOf(binding: Binding, components: Components, registration: RegistrationMode): Schema[] {
  const inPath = binding.path.fields.map((names) => {
    const field = fieldAt(binding.rpc, names) as DescField;
    const { schema } = components.parameter(field);
    // With an empty segment, the address does not exist.
    const nonEmpty = schema.type === "string" ? { minLength: 1 } : {};
    return parameter(field, names.join("."), "path", true, { ...nonEmpty, ...schema });
  });
  const inQuery = queryFields(binding).map(({ name, field }) => {
    const { schema, required } = components.parameter(field);
    return parameter(field, name, "query", required, schema);
  });
  return [...inPath, ...inQuery, ...headersOf(binding, registration)];
}

function parameter(field: DescField, name: string, place: string, required: boolean, schema: Schema): Schema {
  const comment = comments[`${field.parent.typeName}.${field.name}`];
  const values = field.enum === undefined ? undefined : describeValues(field.enum);
  const description = [comment, values].filter(Boolean).join("\n\n");
  const example = parameterExample(field);
  return withKeywords({ name, in: place, ...(required ? { required } : {}) }, { description, schema, example });
}

/** The fields that may be in the query. The names of nested fields are paths. */
function queryFields(binding: Binding): { name: string; field: DescField }[] {
  if (binding.body === "*") return [];
  const found: { name: string; field: DescField }[] = [];
  const visit = (message: DescMessage, prefix: string, above: DescMessage[]) => {
    for (const field of message.fields) {
      const name = prefix + field.name;
      if (isQueryField(binding, name)) found.push({ name, field });
      else if (field.fieldKind === "message" && !above.includes(field.message)) {
        visit(field.message, `${name}.`, [...above, field.message]);
      }
    }
  };
  visit(binding.rpc.input, "", [binding.rpc.input]);
  return found;
}

/** The parameters that operations share, by the names in `headersOf`. */
export const sharedParameters: Record<string, Schema> = {
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes it safe to repeat the call. If the same caller repeats the same call with the same key within 24 hours, the call" +
      " has no further effect, and the response is that of the first call, with the header `Idempotency-Replayed`. The same" +
      " key with another call or other content is `bad_input`. If the response holds an API key, this key is a secret, too:" +
      " use a random UUID (version 4), or at least 32 characters.",
    schema: { type: "string", minLength: 16, maxLength: 128, pattern: "^[!-~]*$" },
    example: "8b4f6a1e-2f0d-4c5b-9a37-6f2f1d0c7e55",
  },
};

function headersOf(binding: Binding, registration: RegistrationMode): Schema[] {
  const headers: Schema[] = [];
  if (rulesOf(binding.rpc).isIdempotentByKey) headers.push({ $ref: "#/components/parameters/Idempotency-Key" });
  if (rulesOf(binding.rpc).isRegistration && registration === "token") {
    const description = "The registration token, which the operator of this server gives out. It is a secret.";
    headers.push({ name: registrationHeader, in: "header", required: true, description, schema: { type: "string" } });
  }
  if (isTaggedRead(binding)) {
    const description =
      "The `ETag` of a response that you have. If it has not changed, the response is 304 without a body.";
    headers.push({ name: "If-None-Match", in: "header", description, schema: { type: "string" } });
  }
  const resumes = resumingField(binding);
  if (resumes !== undefined) {
    const description = `With \`Accept: text/event-stream\`: the id of the last event that you have seen. The stream continues after it and ignores \`${resumes.name}\`.`;
    headers.push({ name: "Last-Event-ID", in: "header", description, schema: { type: "string" } });
  }
  return headers;
}
