// What we use of Connect's implementation of its protocols. Connect exports it for packages of its own, and may change it in
// any release. So it is named here alone, package.json names Connect's version exactly, and test/http/rpc compares our replies
// with recorded ones, which Connect's own handlers gave, too.
export {
  type Compression,
  compressedFlag,
  compressionNegotiate,
  createMethodSerializationLookup,
  mergeNonProtocolHeaders,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
export * as connect from "@connectrpc/connect/protocol-connect";
export * as grpc from "@connectrpc/connect/protocol-grpc";
export * as grpcWeb from "@connectrpc/connect/protocol-grpc-web";
export { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
