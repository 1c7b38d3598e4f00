import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { immutable, media_type } from "../../../gen/stoa/v1/options_pb.js";
import { ReceiptSchema } from "../../../gen/stoa/v1/receipt_pb.js";
import { isServerStreaming } from "../../calls/stream-call.ts";
import { type Binding, isPublicRead, isTaggedRead } from "../../contract/bindings.ts";
import { getOption } from "../../contract/options.ts";
import { isHttpBody } from "../../contract/responses.ts";
import { rulesOf } from "../../contract/rules.ts";
import type { Components } from "./components.ts";
import { commonHeaders, errorResponses, errorsOf, type Surroundings } from "./errors.ts";
import type { Schema } from "./schema.ts";

/** The responses of a binding, by status. */
export function responsesOf(
  binding: Binding,
  components: Components,
  { responses, registration }: Surroundings,
): Schema {
  const { rpc, status } = binding;
  const isTagged = isTaggedRead(binding);
  const headers = {
    ...commonHeaders,
    ...(isTagged ? { ETag: header("ETag"), "Cache-Control": header("Cache-Control") } : {}),
    ...(isPublicRead(binding) ? {} : { "Cache-Control": header("Private-Cache-Control") }),
    ...(rulesOf(rpc).isIdempotentByKey ? { "Idempotency-Replayed": header("Idempotency-Replayed") } : {}),
  };
  const mayBeDamaged =
    getOption(rpc, immutable) || listsReceipts(rpc) ? { "Stoa-Receipt": header("Stoa-Receipt") } : {};
  return {
    [status]: { ...success(binding, components), headers: { ...headers, ...mayBeDamaged } },
    ...(isTagged ? { 304: { description: "You already have this response.", headers } } : {}),
    ...errorResponses(errorsOf(binding, registration), responses),
  };
}

function header(name: string): Schema {
  return { $ref: `#/components/headers/${name}` };
}

/** Whether the response is a list of receipts. A stream is not: its headers are sent before its contents are known. */
function listsReceipts({ methodKind, output }: DescMethod): boolean {
  return methodKind === "unary" && output.fields.some(({ message }) => message?.typeName === ReceiptSchema.typeName);
}

function success(binding: Binding, components: Components): { description: string; content: Schema } {
  const { rpc, responseBody } = binding;
  const desc: DescMessage = responseBody?.message ?? rpc.output;
  if (isServerStreaming(rpc)) return stream(desc, components);
  if (isHttpBody(desc)) {
    // Without its parameters, such as the character set.
    const [type = ""] = (getOption(rpc, media_type) || "application/octet-stream").split(";");
    // For JSON the description can at least say that it is an object.
    const schema = type === "application/json" ? { type: "object" } : undefined;
    return { description: "The exact bytes.", content: { [type]: schema === undefined ? {} : { schema } } };
  }
  const description = binding.status === 201 ? "Created." : "Success.";
  return { description, content: { "application/json": { schema: components.reply(desc) } } };
}

/** Describes a stream. The schemas are those of one line and of one event. */
function stream(desc: DescMessage, components: Components): { description: string; content: Schema } {
  const item = components.part(desc);
  const error = { $ref: "#/components/schemas/Error" };
  return {
    description:
      "A stream. By default it is newline-delimited JSON, and the schema is that of one line. The last line of a stream that" +
      " fails is an Error. With `Accept: text/event-stream` it consists of server-sent events, and the schema is that of one" +
      " event: `data` is the same object as JSON, `id` is the position for resuming, and `event` is `error` if the stream" +
      " fails. Every 15 seconds, an empty line (or a comment among events) keeps the connection alive.",
    content: {
      "application/x-ndjson": { schema: { anyOf: [item, error] } },
      "text/event-stream": {
        schema: {
          type: "object",
          required: ["data"],
          properties: {
            id: { type: "string" },
            event: { const: "error" },
            data: { type: "string", contentMediaType: "application/json", contentSchema: { anyOf: [item, error] } },
          },
        },
      },
    },
  };
}
