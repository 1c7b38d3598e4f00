// What the head of a request says.
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { badInput, type StoaError } from "../../errors.ts";
import type { HttpRequest } from "./http-messages.ts";

const sane = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** The client's X-Request-Id if it is fit for a log and a header, else a new one. */
export function requestIdOf(request: Pick<HttpRequest, "headers">): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && sane.test(given) ? given : randomUUID();
}

/** The form of nearly every Host header; other forms are parsed. */
const plainHost = /^(?:127\.0\.0\.1|[a-z][a-z0-9]*(?:\.[a-z][a-z0-9]*)*)(?::(?:\d{1,4}|[1-5]\d{4}))?$/i;

/**
 * Whether a request says clearly for which host it is (RFC 9112, section 3.2): exactly one well-formed Host header, or none
 * in HTTP/1.0; over HTTP/2 the :authority, with which a Host header must agree (RFC 9113, section 8.3.1).
 */
export function hasGoodHost({ headers, rawHeaders, httpVersion }: HttpRequest): boolean {
  // Counted in the raw headers, because Node keeps only the first of two Host headers.
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts > 1) return false;
  const authority = headers[":authority"] as string | undefined;
  const host = headers.host ?? authority;
  if (host === undefined) return httpVersion !== "1.1";
  if (authority !== undefined && authority.toLowerCase() !== host.toLowerCase()) return false;
  // Connect makes a URL of the host, and does not answer the request if it cannot.
  return plainHost.test(host) || URL.canParse(`http://${host}`);
}

/** The failure of a request that does not say for which host it is. */
export function noGoodHost(): StoaError {
  return badInput(undefined, "The Host header is missing, malformed or repeated.");
}

/** Whether a request has a body. */
export function hasBody({ headers, stream }: HttpRequest): boolean {
  const length = headers["content-length"];
  if (stream !== undefined) return length !== "0" && !stream.endAfterHeaders;
  return (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined;
}

/** The headers of a request as calls have them, without the pseudo headers of HTTP/2. */
export function headersOf(raw: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw)) {
    if (value === undefined || name.startsWith(":")) continue;
    for (const each of Array.isArray(value) ? value : [value]) headers.append(name, each);
  }
  return headers;
}

/** Also matches types that no protocol has, such as `application/grpc+xml`: whoever sends one speaks the protocol. */
const grpcType = /^application\/grpc(-web)?(?:[+;-]|$)/i;

/** The version of gRPC that a content type names; undefined for other types. */
export function grpcOf(contentType = ""): "grpc" | "grpc-web" | undefined {
  const match = grpcType.exec(contentType);
  if (match === null) return undefined;
  return match[1] === undefined ? "grpc" : "grpc-web";
}

/** Whether the head of a request is that of an RPC, whatever its address. `application/json` says nothing: REST has it, too. */
export function isRpcRequest(headers: IncomingHttpHeaders): boolean {
  const type = headers["content-type"] ?? "";
  return (
    grpcOf(type) !== undefined ||
    /^application\/(?:proto|connect\+)/i.test(type) ||
    headers["connect-protocol-version"] !== undefined
  );
}
