import type { ConnectError } from "@connectrpc/connect";
import type { HttpReply } from "../replies/reply.ts";
import { grpcOf } from "../requests/head.ts";
import { connect, grpc } from "./connect-protocol.ts";
import { respell } from "./status-message.ts";
import { enclose } from "./unary/envelopes.ts";

/** The answer to a content type of none of the protocols. */
export const unsupportedType = { status: 415, fields: {} } as const satisfies HttpReply;

/**
 * The answer to an RPC that is refused before its message is read, in the manner of its protocol.
 * @param contentType of the request
 */
export function refusalOf(contentType: string | undefined, error: ConnectError): HttpReply {
  const type = contentType ?? "";
  if (grpcOf(type) !== undefined) {
    // A failure before any message is sent as headers only.
    const status = Object.fromEntries(grpc.setTrailerStatus(new Headers(), error));
    const message = respell(status["grpc-message"] ?? "");
    return { status: 200, fields: { ...status, "grpc-message": message, "content-type": type } };
  }
  const metadata = Object.fromEntries(error.metadata);
  if (connect.parseContentType(type)?.stream === true) {
    const end = JSON.stringify(connect.endStreamToJson(new Headers(), error, undefined));
    const body = enclose(connect.endStreamFlag, Buffer.from(end));
    return { status: 200, fields: { ...metadata, "content-type": type }, body };
  }
  const body = Buffer.from(connect.errorToJsonBytes(error, undefined));
  const fields = { ...metadata, "content-type": "application/json" };
  return { status: connect.codeToHttpStatus(error.code), fields, body };
}
