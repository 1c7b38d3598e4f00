// The answers of a service that is starting, in the protocol of each caller.
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { errorHeaders, toConnectError, toErrorBody } from "../../calls/error-mapping.ts";
import { errorStatus, StoaError } from "../../errors.ts";
import { requestIdOf } from "../requests/request-id.ts";

const starting = new StoaError("unavailable", "The service is starting.", { retryAfterSeconds: 1 });
const asConnectError = toConnectError(starting);

interface Reply {
  status: number;
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

const alive: Reply = {
  status: 200,
  headers: { "content-type": "application/json; charset=utf-8" },
  body: '{"ok":true}',
};
const asRest: Reply = {
  status: errorStatus.unavailable,
  headers: { "content-type": "application/json; charset=utf-8", ...errorHeaders(starting) },
  body: toErrorBody(starting),
};
const asConnect: Reply = {
  status: errorStatus.unavailable,
  headers: { "content-type": "application/json", ...errorHeaders(starting) },
  body: errorToJsonBytes(asConnectError, {}),
};
/** gRPC and gRPC-Web send a failure before any message as headers only. */
const grpcStatus = Object.fromEntries(setTrailerStatus(new Headers(), asConnectError));

/** Answers 503 `unavailable`, and 200 at /healthz. RPC clients get the error of their protocol. */
export function answerStarting(request: IncomingMessage, response: ServerResponse): void {
  const { status, headers, body } = replyTo(request);
  const isHttp1 = request.httpVersionMajor === 1;
  const send = () => {
    const all = {
      "x-request-id": requestIdOf(request),
      "cache-control": "no-store",
      ...(isHttp1 ? { connection: "close" } : {}),
      ...headers,
    };
    // Not by writeHead: gRPC asks that the stream ends with the frame of the headers.
    response.statusCode = status;
    for (const [name, value] of Object.entries(all)) response.setHeader(name, value);
    response.end(body);
  };
  // Closing the connection with unread bytes would reset it, and the reply would be lost.
  if (isHttp1) request.resume().once("end", send);
  else send();
}

function replyTo({ url, headers }: IncomingMessage): Reply {
  if (url?.split("?", 1)[0] === "/healthz") return alive;
  const type = headers["content-type"] ?? "";
  if (/^application\/grpc(?:-web)?(?:[+;-]|$)/.test(type)) {
    // Connect escapes more than the protocol asks for, and not every client decodes that.
    return { status: 200, headers: { ...grpcStatus, "content-type": type, "grpc-message": starting.message } };
  }
  const isConnect = headers["connect-protocol-version"] !== undefined || /^application\/(?:proto|connect\+)/.test(type);
  return isConnect ? asConnect : asRest;
}
