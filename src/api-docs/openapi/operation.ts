import type { DescField, DescMethod } from "@bufbuild/protobuf";
import { comments } from "../../../gen/comments.js";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import type { Binding } from "../../contract/bindings.ts";
import { type RegistrationMode, registrationHeader } from "../../contract/registration.ts";
import { needsAgent, rulesOf } from "../../contract/rules.ts";
import type { Components } from "./components.ts";
import type { Surroundings } from "./errors.ts";
import { parametersOf } from "./parameters.ts";
import { responsesOf } from "./responses.ts";
import { type Schema, withKeywords } from "./schema.ts";

/** The tag of an RPC: the name of its service. */
export function tagOf({ parent }: DescMethod): string {
  return parent.name.replace(/Service$/, "");
}

/** Describes one binding of an RPC. @param id the unique id of the operation */
export function operationOf(
  binding: Binding,
  id: string,
  components: Components,
  { responses, registration }: Surroundings,
): Schema {
  const { rpc } = binding;
  const parameters = parametersOf(binding, components, registration);
  return withKeywords(
    {
      operationId: id,
      tags: [tagOf(rpc)],
      ...texts(rpc, registration),
      security: securityOf(rpc),
    },
    {
      deprecated: rpc.deprecated || undefined,
      parameters: parameters.length > 0 ? parameters : undefined,
      requestBody: bodyOf(binding, components),
      responses: responsesOf(binding, components, { responses, registration }),
    },
  );
}

const registrationTexts: Record<RegistrationMode, string> = {
  open: "On this server, registration is open to everybody.",
  token: `On this server, registration needs a token: send it as \`${registrationHeader}\`.`,
  closed: "On this server, registration is closed: every call is `forbidden`.",
};

/** The summary is the first sentence of the RPC's comment. The description is the whole comment and what this server does. */
function texts(rpc: DescMethod, registration: RegistrationMode): { summary: string; description?: string } {
  const comment = comments[`${rpc.parent.typeName}.${rpc.name}`] ?? rpc.name.replace(/(?<=[a-z])(?=[A-Z])/g, " ");
  const [first = ""] = comment.split(/(?<=\.)\s/, 1);
  const summary = first.replace(/\.$/, "");
  const limit = rulesOf(rpc).limit;
  const counts = limit === undefined ? "" : `A call that takes effect counts towards the rate limit \`${limit}\`.`;
  const registering = rulesOf(rpc).isRegistration ? registrationTexts[registration] : "";
  if (first.length === comment.length && counts === "") return { summary };
  return { summary, description: [comment, registering, counts].filter(Boolean).join("\n\n") };
}

function bodyOf({ rpc, body, path }: Binding, components: Components): Schema | undefined {
  if (body === undefined) return undefined;
  const schema = body === "*" ? components.body(rpc.input, topLevel(path.fields)) : partOf(body, components);
  return { required: true, content: { "application/json": { schema } } };
}

function partOf(field: DescField, components: Components): Schema {
  return components.parameter(field).schema;
}

function topLevel(fields: string[][]): Set<string> {
  return new Set(fields.filter(({ length }) => length === 1).map(([name = ""]) => name));
}

/** An API key is required, or it may be shown because some requests need it. */
function securityOf(rpc: DescMethod): Record<string, string[]>[] {
  if (rulesOf(rpc).access !== Access.PUBLIC) return [{ apiKey: [] }];
  return rpc.input.fields.some(needsAgent) ? [{}, { apiKey: [] }] : [];
}
