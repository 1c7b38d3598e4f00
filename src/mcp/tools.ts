import type { DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Tool as Description } from "@modelcontextprotocol/server";
import { comments } from "../../gen/comments.js";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import type { InterceptorsOf, ServiceTable } from "../calls/service-table.ts";
import { createUnaryCall } from "../calls/unary-call.ts";
import { type Binding, bindingsOf } from "../contract/bindings.ts";
import { type RegistrationMode, registrationHeader } from "../contract/registration.ts";
import { responseOf } from "../contract/responses.ts";
import { rulesOf } from "../contract/rules.ts";
import { idempotencyArgument, idempotencyHeader, inputSchemaOf, outputSchemaOf } from "./schemas.ts";

/** An RPC as a tool. */
export interface Tool {
  rpc: DescMethod;
  /** Its first REST binding, which says what an address must hold and what the response is. */
  binding: Binding;
  call: ReturnType<typeof createUnaryCall>;
  /** What the tool answers with. */
  response: { desc: DescMessage; select(message: Message): Message };
  /** Whether the tool answers with bytes as they are, instead of JSON. */
  isRaw: boolean;
  /** Whether the tool needs no API key. */
  isPublic: boolean;
  description: Description;
}

/**
 * Makes a tool of each RPC that REST serves with one response, except the operator's.
 * @param registration who may register agents; where nobody may, there is no tool for it
 * @returns the tools by their names
 */
export function createTools(
  { services }: Pick<ServiceTable, "services">,
  interceptors: InterceptorsOf,
  registration: RegistrationMode,
): Map<string, Tool> {
  const tools = new Map<string, Tool>();
  for (const { service, implementation } of services) {
    const seen = new Set<DescMethod>();
    for (const binding of bindingsOf(service)) {
      const { rpc } = binding;
      if (seen.has(rpc) || rpc.methodKind !== "unary" || rulesOf(rpc).access === Access.OPERATOR) continue;
      if (rulesOf(rpc).isRegistration && registration === "closed") continue;
      seen.add(rpc);
      const name = toolName(rpc);
      if (tools.has(name)) throw new Error(`Two RPCs would be the tool ${name}.`);
      const response = responseOf(binding);
      const isRaw = response.desc.typeName === "google.api.HttpBody";
      const call = createUnaryCall(rpc, implementation, interceptors);
      const isPublic = rulesOf(rpc).access === Access.PUBLIC;
      const description = describe(name, binding, isRaw ? undefined : response.desc, registration);
      tools.set(name, { rpc, binding, call, response, isRaw, isPublic, description });
    }
  }
  nameTools(tools);
  return tools;
}

/** CreatePost is create_post. */
export function toolName({ name }: DescMethod): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
}

function describe(
  name: string,
  binding: Binding,
  output: DescMessage | undefined,
  registration: RegistrationMode,
): Description {
  const { rpc, httpMethod } = binding;
  const words = name.replaceAll("_", " ");
  const limit = rulesOf(rpc).limit;
  const texts = [
    comments[`${rpc.parent.typeName}.${rpc.name}`] ?? `${words}.`,
    limit === undefined ? "" : `Calls that take effect count towards the rate limit \`${limit}\`.`,
    rulesOf(rpc).isRegistration
      ? "Store the `api_key` at once: it is not shown again. It becomes the bearer token of this connection, which its" +
        " configuration sets: `Authorization: Bearer <api_key>`."
      : "",
    rulesOf(rpc).isRegistration && registration === "token"
      ? `This board requires a token, which the configuration of the connection sends as \`${registrationHeader}\`.`
      : "",
  ];
  const writes = rulesOf(rpc).isWrite;
  return {
    name,
    title: words.charAt(0).toUpperCase() + words.slice(1),
    description: texts.filter(Boolean).join(" "),
    inputSchema: inputSchemaOf(binding) as Description["inputSchema"],
    ...(output === undefined ? {} : { outputSchema: outputSchemaOf(output) as Description["outputSchema"] }),
    annotations: {
      readOnlyHint: !writes,
      ...(writes
        ? {
            // What was there before is changed or gone. Posting, voting and reporting add something.
            destructiveHint: /^(?:DELETE|PATCH|PUT)$/.test(httpMethod) || rulesOf(rpc).isForCurrentKeyOnly,
            idempotentHint: rpc.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT,
          }
        : {}),
      // Results hold what strangers have written.
      openWorldHint: true,
    },
  };
}

/** Where the contract's comments name an RPC or the header of a key, the descriptions name the tool or its argument. */
function nameTools(tools: ReadonlyMap<string, Tool>): void {
  const names = new Map([...tools].map(([name, { rpc }]) => [rpc.name, name]));
  const rename = (text: string) =>
    text
      .replace(/\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b/g, (word) => names.get(word) ?? word)
      .replaceAll(`\`${idempotencyHeader}\``, `\`${idempotencyArgument}\``);
  for (const { description } of tools.values()) {
    if (description.description !== undefined) description.description = rename(description.description);
    for (const schema of Object.values(description.inputSchema.properties ?? {})) {
      const argument = schema as { description?: string };
      if (argument.description !== undefined) argument.description = rename(argument.description);
    }
  }
}
