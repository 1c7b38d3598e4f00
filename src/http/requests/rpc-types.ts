import type { IncomingHttpHeaders } from "node:http";

/** Also matches types that no protocol has, such as `application/grpc+xml`: whoever sends one speaks the protocol. */
const grpcType = /^application\/grpc(-web)?(?:[+;-]|$)/;

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
    /^application\/(?:proto|connect\+)/.test(type) ||
    headers["connect-protocol-version"] !== undefined
  );
}
