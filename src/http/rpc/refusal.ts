import { Code, ConnectError } from "@connectrpc/connect";
import { withDetail } from "../../calls/error-mapping.ts";
import { badInput, StoaError } from "../../errors.ts";
import { errorReply } from "../errors/failures.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";
import { grpcOf, isRpcRequest } from "../requests/head.ts";
import type { HttpRequest } from "../requests/http-messages.ts";
import { connect, grpc } from "./connect-protocol.ts";
import { respell } from "./status-message.ts";
import { enclose } from "./unary/envelopes.ts";

const wrongType = badInput(undefined, "The content type is of none of the protocols: gRPC, gRPC-Web and Connect.");

/** The answer to a content type of none of the protocols. */
export const unsupportedType: HttpReply = { ...errorReply(wrongType), status: 415 };

/** Refuses gRPC over HTTP/1.0, which has no trailers for the outcome of a call. @throws StoaError */
export function checkTrailers({ headers, httpVersion }: HttpRequest): void {
  if (httpVersion !== "1.0" || grpcOf(headers["content-type"]) !== "grpc") return;
  throw badInput(undefined, "gRPC needs trailers, which HTTP/1.0 does not have.");
}

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
  const fields = { "cache-control": "no-store", ...metadata, "content-type": "application/json" };
  return { status: connect.codeToHttpStatus(error.code), fields, body };
}

const noRpc = new StoaError("not_found", "There is no such RPC.");
const unimplemented = withDetail(new ConnectError(noRpc.message), noRpc, Code.Unimplemented);

/** The answer to a request for an RPC that does not exist; undefined if it does not come from an RPC client. */
export function answerUnknownRpc({ request, notes }: RequestContext): HttpReply | undefined {
  if (!isRpcRequest(request.headers)) return undefined;
  const contentType = request.headers["content-type"];
  if (grpcOf(contentType) !== undefined) notes.outcome = "not_found";
  const reply = refusalOf(contentType, unimplemented);
  return reply.status === 200 ? reply : { ...reply, status: 404 };
}
