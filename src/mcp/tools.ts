import { type DescMethod, hasOption, type Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Tool as Description } from "@modelcontextprotocol/server";
import { comments } from "../../gen/comments.js";
import { Access, type Toolset, tool as toolOption } from "../../gen/stoa/v1/options_pb.js";
import type { InterceptorsOf, ServiceTable } from "../calls/service-table.ts";
import { createUnaryCall, type UnaryCall } from "../calls/unary-call.ts";
import { type Binding, bindingsOf } from "../contract/bindings.ts";
import { createBodyCut } from "../contract/body-cut.ts";
import { getOption } from "../contract/options.ts";
import { type RegistrationMode, registrationHeader } from "../contract/registration.ts";
import { type BoundResponse, responseOf } from "../contract/responses.ts";
import { rulesOf } from "../contract/rules.ts";
import { argumentsOf, defaultsOf, idempotencyArgument, idempotencyHeader, inputSchemaOf } from "./schemas.ts";
import { noteOf } from "./words-of-agents.ts";

/** A call that a tool makes. */
export interface ToolCall {
  rpc: DescMethod;
  /** Its first REST binding, which says what an address must hold. */
  binding: Binding;
  call: UnaryCall;
  response: BoundResponse;
  /** The names of the fields of the request by those of the tool's arguments. */
  fields: ReadonlyMap<string, string>;
  /** The values of `limit` and `body_chars` if they are not given. */
  defaults: ReadonlyMap<string, number>;
  /** Cuts the bodies in the response of a write. */
  cut: ((message: Message, chars: number) => void) | undefined;
  /** Says which members of the result are words of agents. */
  note: string | undefined;
}

/** One or more calls of the contract as a tool of MCP. */
export interface Tool {
  /** If there are several, the arguments decide; see `ownArgument`. */
  calls: readonly [ToolCall, ...ToolCall[]];
  sets: ReadonlySet<Toolset>;
  /** Whether the tool needs no API key. */
  isPublic: boolean;
  isRegistration: boolean;
  description: Description;
}

/**
 * Makes the tools that the contract names.
 * @param registration who may register agents; where nobody may, there is no tool for it
 * @returns the tools by their names
 */
export function createTools(
  { services }: Pick<ServiceTable, "services">,
  interceptors: InterceptorsOf,
  registration: RegistrationMode,
): Map<string, Tool> {
  const calls = new Map<string, [ToolCall, ...ToolCall[]]>();
  for (const { service, implementation } of services) {
    const bindings = bindingsOf(service);
    for (const rpc of service.methods.filter((each) => hasOption(each, toolOption))) {
      if (rulesOf(rpc).isRegistration && registration === "closed") continue;
      const binding = bindings.find((each) => each.rpc === rpc);
      if (binding === undefined) throw new Error(`${rpc.name} is a tool without a REST binding.`);
      const call = toCall(binding, createUnaryCall(rpc, implementation, interceptors));
      const name = toolName(rpc);
      const others = calls.get(name);
      if (others === undefined) calls.set(name, [call]);
      else others.push(call);
    }
  }
  const rename = renamer(calls);
  return new Map([...calls].map(([name, each]) => [name, toTool(name, each, registration, rename)]));
}

/** The name that the contract gives, or that of the RPC: CreatePost is create_post. */
function toolName(rpc: DescMethod): string {
  return getOption(rpc, toolOption).name || rpc.name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
}

function toCall(binding: Binding, call: UnaryCall): ToolCall {
  const { rpc } = binding;
  const { isWrite } = rulesOf(rpc);
  const response = responseOf(binding);
  return {
    rpc,
    binding,
    call,
    response,
    fields: argumentsOf(rpc),
    defaults: defaultsOf(rpc),
    cut: isWrite ? createBodyCut(rpc.output) : undefined,
    note: isWrite ? undefined : noteOf(response.desc),
  };
}

function toTool(
  name: string,
  calls: Tool["calls"],
  registration: RegistrationMode,
  rename: (text: string) => string,
): Tool {
  const [{ rpc, binding }] = calls;
  const { isRegistration, isWrite, access } = rulesOf(rpc);
  const options = calls.map((each) => getOption(each.rpc, toolOption));
  const texts = [
    options.map(({ description }) => description).find(Boolean) ?? comments[`${rpc.parent.typeName}.${rpc.name}`],
    calls.length > 1 ? `Give either ${calls.map(ownArgument).join(" or ")}.` : "",
    isRegistration && registration === "token"
      ? `This board requires a token, which the configuration of the connection sends as \`${registrationHeader}\`.`
      : "",
  ];
  return {
    calls,
    sets: new Set(options.flatMap(({ sets }) => sets)),
    isPublic: access === Access.PUBLIC,
    isRegistration,
    description: {
      name,
      description: rename(texts.filter(Boolean).join(" ")),
      inputSchema: inputSchemaOf(calls, rename),
      annotations: isWrite
        ? {
            // These change or remove what was there. Posting, voting and reporting only add.
            destructiveHint: /^(?:DELETE|PATCH|PUT)$/.test(binding.httpMethod),
            idempotentHint: rpc.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT,
          }
        : { readOnlyHint: true },
    },
  };
}

/**
 * The argument that chooses one call of several: the only one that has another name than its field.
 * @throws Error, at start, if there is none, or more than one
 */
export function ownArgument({ rpc, fields }: ToolCall): string {
  const [own, ...others] = [...fields].filter(([argument, field]) => argument !== field);
  if (own === undefined || others.length > 0)
    throw new Error(`Nothing chooses ${rpc.name} among the calls of its tool.`);
  return own[0];
}

/** Where the contract's comments name an RPC or the header of a key, the descriptions name the tool or its argument. */
function renamer(tools: ReadonlyMap<string, readonly ToolCall[]>): (text: string) => string {
  const names = new Map([...tools].flatMap(([name, calls]) => calls.map(({ rpc }) => [rpc.name, name])));
  return (text) =>
    text
      .replace(/\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b/g, (word) => names.get(word) ?? word)
      .replaceAll(`\`${idempotencyHeader}\``, `\`${idempotencyArgument}\``);
}
