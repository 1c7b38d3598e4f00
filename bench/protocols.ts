// Converts calls into requests of each protocol.
import { toBinary, toJsonString } from "@bufbuild/protobuf";
import type { Call } from "./cases.ts";

/** A request that is ready to send. */
export interface Request {
  method: "GET" | "POST" | "PATCH";
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
}

/** A way to make calls. `side` is the program that answers, `transport` is the client that sends. */
export interface Protocol {
  name: string;
  side: "baseline" | "service";
  transport: "http1" | "grpc";
  encode(call: Call): Request;
}

/** The hand-written routes, and the protocols that are compared with them. */
export const handWritten: Protocol = { name: "hand-written", side: "baseline", transport: "http1", encode: encodeRest };
/** The same with the statements and transactions of the service. There are such routes where the service saves round trips. */
export const improved: Protocol = {
  ...handWritten,
  name: "hand-written, improved",
  encode(call) {
    const request = encodeRest(call);
    return { ...request, path: `/improved${request.path}` };
  },
};
export const protocols: Protocol[] = [
  { name: "rest", side: "service", transport: "http1", encode: encodeRest },
  {
    name: "connect-json",
    side: "service",
    transport: "http1",
    encode: (call) =>
      encodeConnect(call, "application/json", Buffer.from(toJsonString(call.rpc.method.input, call.rpc.message))),
  },
  {
    name: "connect-proto",
    side: "service",
    transport: "http1",
    encode: (call) => encodeConnect(call, "application/proto", toBinary(call.rpc.method.input, call.rpc.message)),
  },
  { name: "grpc", side: "service", transport: "grpc", encode: encodeGrpc },
];

function encodeRest({ rest, key }: Call): Request {
  const { method, path, body } = rest;
  if (body === undefined) return { method, path, headers: authorization(key) };
  const headers = { ...authorization(key), "content-type": "application/json" };
  return { method, path, headers, body: Buffer.from(JSON.stringify(body)) };
}

function encodeConnect(call: Call, contentType: string, body: Uint8Array): Request {
  const headers = { ...authorization(call.key), "content-type": contentType, "connect-protocol-version": "1" };
  return { method: "POST", path: rpcPath(call), headers, body: Buffer.from(body) };
}

/** The body is one message after its prefix: the flag `not compressed` and the length. */
function encodeGrpc(call: Call): Request {
  const message = toBinary(call.rpc.method.input, call.rpc.message);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const headers = { ...authorization(call.key), "content-type": "application/grpc+proto", te: "trailers" };
  return { method: "POST", path: rpcPath(call), headers, body: Buffer.concat([prefix, message]) };
}

function rpcPath({ rpc: { method } }: Call): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function authorization(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}
