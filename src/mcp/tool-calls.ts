import { ConnectError } from "@connectrpc/connect";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { unauthorized } from "../calls/call.ts";
import { rulesOf } from "../contract/rules.ts";
import { badInput, StoaError } from "../errors.ts";
import { addUnknownMembers, decodeMessage, encodeMessage, IgnoredInput, type Input } from "../transcoding/index.ts";
import { idempotencyArgument, idempotencyHeader } from "./schemas.ts";
import type { Tool } from "./tools.ts";
import type { Visitor } from "./visitor.ts";

/** What a header may hold. */
const visible = /^[\x21-\x7e]+$/;

/**
 * Calls a tool: admission, decoding and interceptors are those of a REST request. A failure is a result, too, because only
 * results reach the model.
 * @param input the arguments; they are changed
 */
export async function callTool(tool: Tool, input: Input, visitor: Visitor): Promise<CallToolResult> {
  try {
    return await makeCall(tool, input, visitor);
  } catch (error) {
    return toFailure(error, visitor);
  }
}

async function makeCall(tool: Tool, input: Input, visitor: Visitor): Promise<CallToolResult> {
  const { rpc, binding, call, response, isRaw, isPublic } = tool;
  const { context } = visitor;
  const given = takeIdempotencyKey(tool, input);
  const idempotencyKey = typeof given === "string" && visible.test(given) ? given : undefined;
  if (!isPublic && !visitor.isAgent) throw unauthorized(rulesOf(rpc).access);
  const caller = await visitor.admit(rpc, idempotencyKey);
  if (given !== idempotencyKey) {
    throw badInput(
      idempotencyArgument,
      `${idempotencyArgument} must be a string of 16 to 128 visible ASCII characters.`,
    );
  }
  for (const [name = ""] of binding.path.fields) {
    const value = input.get(name);
    if (value === undefined || value === null || value === "") throw badInput(name, `${name} is required.`);
  }
  const message = decodeMessage(rpc.input, input);
  const ignored = new IgnoredInput();
  addUnknownMembers(ignored, rpc.input, input, "an argument of this tool");
  const reply = await call(message, {
    method: "POST",
    url: context.url,
    headers: () => new Headers(),
    call: context.call(rpc, caller, idempotencyKey ?? null),
  });
  context.noteReply(reply);
  const selected = response.select(reply.message);
  if (isRaw) {
    const { data } = selected as typeof selected & { data: Uint8Array };
    return { content: [{ type: "text", text: visitor.toText([Buffer.from(data).toString("utf8")]) }] };
  }
  const members: Record<string, unknown> = { ok: true, ...encodeMessage(response.desc, selected) };
  if (ignored.warnings.length > 0) members.warnings = ignored.warnings;
  const isReplayed = context.notes.isReplay === true;
  const { text, value } = visitor.toJson(members);
  return {
    // Clients that do not read structured content show this text to their models.
    content: [{ type: "text", text }],
    structuredContent: value,
    ...(isReplayed ? { _meta: { "stoa/idempotency-replayed": true } } : {}),
  };
}

/** Takes the key out of the arguments, where the tool has such an argument. */
function takeIdempotencyKey({ rpc }: Tool, input: Input): unknown {
  if (!rulesOf(rpc).isIdempotentByKey) return undefined;
  const value = input.get(idempotencyArgument) ?? undefined;
  input.delete(idempotencyArgument);
  return value;
}

function toFailure(error: unknown, visitor: Visitor): CallToolResult {
  // The interceptors have logged what they throw, which is a Connect error.
  if (!(error instanceof ConnectError || error instanceof StoaError)) {
    visitor.context.log.error({ err: error }, "a tool failed");
  }
  const { shape } = visitor.fail(error);
  if (shape.field === idempotencyHeader) shape.field = idempotencyArgument;
  return { content: [{ type: "text", text: JSON.stringify(shape) }], structuredContent: shape, isError: true };
}
