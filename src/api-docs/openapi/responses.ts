import { type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf";
import { immutable, media_type } from "../../../gen/stoa/v1/options_pb.js";
import { ReceiptSchema } from "../../../gen/stoa/v1/receipt_pb.js";
import { isServerStreaming } from "../../calls/stream-call.ts";
import type { Binding } from "../../contract/bindings.ts";
import { isIdempotentByKey } from "../../contract/rules.ts";
import type { Components } from "./components.ts";
import { commonHeaders, errorResponses, errorsOf } from "./errors.ts";
import type { Schema } from "./schema.ts";

/** All that a binding may answer, by status. */
export function responsesOf(binding: Binding, components: Components, shared: Record<string, Schema>): Schema {
  const { rpc, status } = binding;
  const isImmutable = getOption(rpc, immutable);
  const headers = {
    ...commonHeaders,
    ...(isImmutable
      ? { ETag: { $ref: "#/components/headers/ETag" }, "Cache-Control": { $ref: "#/components/headers/Cache-Control" } }
      : {}),
    ...(isIdempotentByKey(rpc)
      ? { "Idempotency-Replayed": { $ref: "#/components/headers/Idempotency-Replayed" } }
      : {}),
  };
  const mayBeDamaged =
    isImmutable || listsReceipts(rpc) ? { "Stoa-Receipt": { $ref: "#/components/headers/Stoa-Receipt" } } : {};
  return {
    [status]: { ...success(binding, components), headers: { ...headers, ...mayBeDamaged } },
    ...(isImmutable ? { 304: { description: "You have the very reply already.", headers } } : {}),
    ...errorResponses(errorsOf(binding), shared),
  };
}

/** Whether the reply is a list of receipts. The headers of a stream are sent before it is known what it holds. */
function listsReceipts({ methodKind, output }: DescMethod): boolean {
  return methodKind === "unary" && output.fields.some(({ message }) => message?.typeName === ReceiptSchema.typeName);
}

function success(binding: Binding, components: Components): { description: string; content: Schema } {
  const { rpc, responseBody } = binding;
  const desc: DescMessage = responseBody?.message ?? rpc.output;
  if (isServerStreaming(rpc)) return stream(desc, components);
  if (desc.typeName === "google.api.HttpBody") {
    const type = getOption(rpc, media_type) || "application/octet-stream";
    // Bytes as they are: of JSON the description can say that it is an object.
    const schema = type === "application/json" ? { type: "object" } : undefined;
    return { description: "The bytes as they are.", content: { [type]: schema === undefined ? {} : { schema } } };
  }
  const description = binding.status === 201 ? "It is done." : "The answer.";
  return { description, content: { "application/json": { schema: components.reply(desc) } } };
}

/** The schemas are those of one line and of one event; a stream is any number of them. */
function stream(desc: DescMessage, components: Components): { description: string; content: Schema } {
  const item = components.part(desc);
  const error = { $ref: "#/components/schemas/Error" };
  return {
    description:
      "A stream. By default it is newline-delimited JSON; the schema is that of one line, and only the last line of a" +
      " stream that fails is an Error. With `Accept: text/event-stream` it is server-sent events, and the schema is that of one" +
      " event: its `data` is such an object in JSON, its `id` the position to resume from, and `event` is `error` where the" +
      " stream fails. An empty line, or a comment among events, says every 15 seconds that the stream is alive.",
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
