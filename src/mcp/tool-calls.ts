import { ConnectError } from "@connectrpc/connect";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { unauthorized } from "../calls/call.ts";
import { rulesOf } from "../contract/rules.ts";
import { badInput, StoaError } from "../errors.ts";
import {
  addUnknownMembers,
  decodeMessage,
  encoderOf,
  IgnoredInput,
  type Input,
  JsonNumber,
  UrlText,
} from "../transcoding/index.ts";
import { type Part, readFitting } from "./fitting.ts";
import { idempotencyArgument, idempotencyHeader } from "./schemas.ts";
import { ownArgument, type Tool, type ToolCall } from "./tools.ts";
import type { Visitor } from "./visitor.ts";

/** What a header may hold. */
const visible = /^[\x21-\x7e]+$/;
/** How long the bodies are that a write returns: its caller knows them. */
const writtenChars = 100;
const noun = "an argument of this tool";

/**
 * Calls a tool: admission, decoding and interceptors are those of a REST request. The result is one text of JSON. A structured
 * result would need a schema, and some clients that check it lose the errors of calls.
 * @param given the arguments
 */
export async function callTool(tool: Tool, given: Input, visitor: Visitor): Promise<CallToolResult> {
  let call = tool.calls[0];
  const ignored = new IgnoredInput();
  try {
    if (!tool.isPublic && !visitor.isAgent) throw unauthorized(rulesOf(call.rpc).access);
    call = chooseCall(tool, given);
    const members = await makeCall(call, given, ignored, visitor);
    const isReplayed = visitor.context.notes.isReplay === true;
    return {
      content: [{ type: "text", text: toText(members) }],
      ...(isReplayed ? { _meta: { "stoa/idempotency-replayed": true } } : {}),
    };
  } catch (error) {
    return toFailure(error, call, ignored, visitor);
  }
}

/** The JSON of a result. Members that are null are left out: they would be a tenth of what the model reads. */
export function toText(members: Record<string, unknown>): string {
  return JSON.stringify(members, (_name, value) => value ?? undefined);
}

function chooseCall({ calls }: Tool, given: Input): ToolCall {
  if (calls.length === 1) return calls[0];
  const names = calls.map(ownArgument);
  const chosen = calls.filter((_, index) => (given.get(names[index] as string) ?? null) !== null);
  if (chosen.length !== 1) throw badInput(names[0], `Give either ${names.join(" or ")}.`);
  return chosen[0] as ToolCall;
}

/**
 * Makes a call of a tool.
 * @param given its arguments
 * @param ignored is told of those that have no effect
 * @returns the members of its JSON
 * @throws StoaError, or the Connect error of the interceptors
 */
export async function makeCall(
  toolCall: ToolCall,
  given: Input,
  ignored: IgnoredInput,
  visitor: Visitor,
): Promise<Record<string, unknown>> {
  const { rpc, binding, cut, note } = toolCall;
  const input = toInput(toolCall, given, ignored);
  const key = rulesOf(rpc).isIdempotentByKey ? (given.get(idempotencyArgument) ?? undefined) : undefined;
  const idempotencyKey = typeof key === "string" && visible.test(key) ? key : undefined;
  const caller = await visitor.admit(rpc, idempotencyKey);
  if (key !== idempotencyKey) {
    throw badInput(
      idempotencyArgument,
      `${idempotencyArgument} must be a string of 16 to 128 visible ASCII characters.`,
    );
  }
  for (const [name = ""] of binding.path.fields) {
    const value = input.get(name);
    if (value === undefined || value === null || value === "") throw badInput(name, `${name} is required.`);
  }
  const read = async (part: Part): Promise<Record<string, unknown>> => {
    const message = decodeMessage(rpc.input, withPart(input, part));
    const { context } = visitor;
    const reply = await toolCall.call(message, {
      method: "POST",
      url: context.url,
      headers: () => visitor.credentials,
      call: context.call(rpc, caller, idempotencyKey ?? null),
    });
    context.noteReply(reply);
    cut?.(reply.message, writtenChars);
    const { desc, select } = toolCall.response;
    return { ok: true, ...(note === undefined ? {} : { note }), ...encoderOf(desc)(select(reply.message)) };
  };
  const { members, warning } = await readFitting(read, partOf(toolCall, input));
  const warnings = warning === undefined ? ignored.warnings : [warning, ...ignored.warnings];
  return warnings.length === 0 ? members : { ...members, warnings };
}

/** The input of a call: its fields by their own names, and what is given besides. It tells of what is not read. */
function toInput({ rpc, fields }: ToolCall, given: Input, ignored: IgnoredInput): Input {
  const input: Input = new Map();
  for (const [argument, value] of given) {
    if (argument === idempotencyArgument && rulesOf(rpc).isIdempotentByKey) continue;
    const field = fields.get(argument) ?? argument;
    // The argument `post_id` may be given by the name of its field, `id`, but not twice.
    if (input.has(field)) ignored.unknown(field, noun, []);
    if (!input.has(field) || argument !== field) input.set(field, value);
  }
  addUnknownMembers(ignored, rpc.input, input, noun);
  return input;
}

/** Which part a read returns: the one that is asked for, or the default of tools. */
function partOf({ defaults }: ToolCall, input: Input): Part {
  const numberOf = (name: string) => {
    const given = input.get(name) ?? undefined;
    // What is no number is refused when the message is made.
    return given instanceof JsonNumber ? Number(given.text) : defaults.get(name);
  };
  return { limit: numberOf("limit"), bodyChars: numberOf("body_chars") };
}

/** An input that asks for a part of the reply. */
function withPart(input: Input, { limit, bodyChars }: Part): Input {
  const filled: Input = new Map(input);
  for (const [name, value] of [
    ["limit", limit],
    ["body_chars", bodyChars],
  ] as const) {
    const given = input.get(name) ?? undefined;
    const isNumber = given === undefined || given instanceof JsonNumber;
    if (value !== undefined && isNumber) filled.set(name, new UrlText([String(value)]));
  }
  return filled;
}

function toFailure(error: unknown, { fields }: ToolCall, { warnings }: IgnoredInput, visitor: Visitor): CallToolResult {
  // The interceptors have logged what they throw, which is a Connect error.
  if (!(error instanceof ConnectError || error instanceof StoaError)) {
    visitor.context.log.error({ err: error }, "a tool failed");
  }
  const { shape } = visitor.fail(error, warnings);
  for (const [argument, field] of [...fields, [idempotencyArgument, idempotencyHeader]] as const) {
    if (shape.field !== field || argument === field) continue;
    shape.field = argument;
    shape.message = String(shape.message).replace(new RegExp(`\\b${field}\\b`), argument);
    break;
  }
  return { content: [{ type: "text", text: JSON.stringify(shape) }], isError: true };
}
