import type { ConnectError } from "@connectrpc/connect";
import * as connect from "@connectrpc/connect/protocol-connect";
import * as grpc from "@connectrpc/connect/protocol-grpc";
import * as grpcWeb from "@connectrpc/connect/protocol-grpc-web";
import { respell } from "../grpc/status-message.ts";
import type { HttpReply } from "../replies/reply.ts";
import { enclose } from "./unary/envelopes.ts";

/** The answer to a content type of none of the protocols. */
export const unsupportedType = { status: 415, fields: {} } as const satisfies HttpReply;

/** Whether a content type is that of an RPC. `application/json` says nothing: REST has it, too. */
export function isRpcType(contentType = ""): boolean {
  return (
    /^application\/(?:proto|connect\+)/.test(contentType) || /^application\/grpc(?:-web)?(?:[+;-]|$)/.test(contentType)
  );
}

/** Whether a content type is that of a stream. */
export function isStreamType(contentType = ""): boolean {
  const web = grpcWeb.parseContentType(contentType);
  if (web !== undefined) return !web.text;
  return grpc.parseContentType(contentType) !== undefined || connect.parseContentType(contentType)?.stream === true;
}

/**
 * The answer to an RPC that is refused before its message is read, in the manner of its protocol.
 * @param contentType of the request
 */
export function refusalOf(contentType: string | undefined, error: ConnectError): HttpReply {
  const type = contentType ?? "";
  if (grpc.parseContentType(type) !== undefined || grpcWeb.parseContentType(type) !== undefined) {
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
