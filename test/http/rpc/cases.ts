// What is asked of our handlers of unary calls beyond the cases of ../recorded/rpc-cases.ts: how bodies arrive and end, what the
// calls of the fixture give, and limits of an RPC.
import { gzipSync } from "node:zlib";
import { create, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";
import { fixtureMessage } from "../../support/fixture.ts";
import { type Ask, unfinished } from "./asks.ts";

const Thing = fixtureMessage("Thing");

function thing(name: string): Message {
  return create(Thing, { name } as never);
}

/** Puts a message into an envelope, with any flags and any length in its prefix. */
export function frame(data: Uint8Array, flags = 0, length = data.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, data]);
}

const binary = (name: string) => Buffer.from(toBinary(Thing, thing(name)));
const json = (name: string) => Buffer.from(toJsonString(Thing, thing(name)));
const both = (...parts: Buffer[]) => [Buffer.concat(parts)];
const oneByOne = (bytes: Buffer) => [...bytes].map((byte) => Buffer.of(byte));

const empty = Buffer.alloc(0);
export const good = binary("a name");
const long = binary("long ".repeat(1_000));
const garbage = Buffer.from([0x0a, 0x7f, 0x00]);
const framed = frame(good);
const tooLong = frame(good, 0, 2 ** 31);
const gzip = { "grpc-encoding": "gzip" };
const asks = (accepted: string) => ({ "grpc-accept-encoding": accepted });
const within = (timeout: string) => ({ "grpc-timeout": timeout });

/** Over gRPC and gRPC-Web: the grpc-status that comes out, the RPC, the body in parts, and header fields. */
export const enveloped: [string, string, string, Buffer[], Record<string, string>?][] = [
  ["a message byte by byte", "0", "Get", oneByOne(framed)],
  ["headers and trailers of a call", "0", "Get", [framed], { "x-probe": "trailer" }],
  ["a failure with a wait", "14", "Fail", [frame(binary("unavailable"))]],
  ["an unknown failure", "13", "Fail", [frame(binary("x"))]],
  ["a thrown undefined", "13", "Fail", [frame(binary("nothing"))]],
  ["bad credentials", "16", "Write", [unfinished], { authorization: "Bearer bad" }],
  ["two messages in parts", "12", "Get", [framed, framed]],
  ["an undecodable message without an end", "3", "Get", [frame(garbage), unfinished]],
  ["an undecodable message after a good one", "3", "Get", both(framed, frame(garbage))],
  ["a prefix alone", "12", "Get", [framed.subarray(0, 5)]],
  ["half a second message", "3", "Get", [framed, framed.subarray(0, 9)]],
  ["a second prefix alone", "0", "Get", [framed, framed.subarray(0, 5)]],
  ["the prefix of one that is too large", "8", "Get", [tooLong, unfinished]],
  ["one that is too large after a good one", "8", "Get", both(framed, tooLong)],
  ["one beyond the limit of its RPC", "8", "Rule", [frame(Buffer.alloc(100_000))]],
  ["two compressed messages", "12", "Get", both(frame(gzipSync(long), 1), frame(gzipSync(long), 1)), gzip],
  ["a compressed message and half a one", "3", "Get", [frame(gzipSync(long), 1), framed.subarray(0, 9)], gzip],
  ["a compressed empty message", "0", "Get", [frame(empty, 1)], gzip],
  ["a compressed message that is too large", "8", "Get", [frame(gzipSync(Buffer.alloc(300_000)), 1)], gzip],
  ["gzip that ends too early", "3", "Get", [frame(gzipSync(long).subarray(0, 20), 1)], gzip],
  ["an encoding that is not used", "0", "Get", [framed], { "grpc-encoding": "br" }],
  ["a reply compressed as the request", "0", "Get", [frame(long)], gzip],
  ["a short reply", "0", "Get", [framed], asks("gzip")],
  ["the content encoding of HTTP", "0", "Get", [framed], { "content-encoding": "identity" }],
  ["a timeout", "0", "Get", [framed], within("10S")],
  ["a timeout that is too long", "3", "Get", [framed], within("123456789S")],
  ["a timeout that passes", "0", "Wait", [framed], within("9000u")],
];

const proto = "application/proto";
const jsonType = "application/json";
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
const get = (query: string) => ({ method: "GET", query: `?connect=v1&${query}` });
const header = (name: string, value: string) => ({ headers: { [name]: value } });

/** Over Connect: the HTTP status that comes out, the RPC, the content type, the body in parts, and what else is asked. */
export const plain: [string, number, string, string | undefined, Buffer[], Partial<Ask>?][] = [
  ["a byte order mark", 200, "Get", jsonType, [Buffer.from("\ufeff{}")]],
  ["headers and trailers of a call", 200, "Get", proto, [], header("x-probe", "trailer")],
  ["a failure with a wait", 503, "Fail", proto, [binary("unavailable")]],
  ["an unknown failure", 500, "Fail", proto, [good]],
  [
    "a large failure",
    400,
    "Get",
    jsonType,
    [Buffer.from(`{"name": ["${"x".repeat(2_000)}"]}`)],
    header("accept-encoding", "gzip"),
  ],
  ["an empty message and good credentials", 200, "Write", proto, [], header("authorization", "Bearer good")],
  ["bad credentials", 401, "Write", proto, [garbage, unfinished], header("authorization", "Bearer bad")],
  ["invalid UTF-8", 200, "Get", jsonType, [Buffer.from('{"name": "\xff"}', "latin1")]],
  [
    "an announcement of too much",
    429,
    "Get",
    jsonType,
    [Buffer.from("{"), unfinished],
    header("content-length", "300000"),
  ],
  ["one beyond the limit of its RPC", 429, "Rule", proto, [Buffer.alloc(100_000)]],
  [
    "JSON beyond that limit",
    200,
    "Rule",
    jsonType,
    [Buffer.from(`{"title": "ok", "number": 1}${" ".repeat(100_000)}`)],
  ],
  ["a reply in Brotli", 200, "Get", jsonType, [json("long ".repeat(400))], header("accept-encoding", "br")],
  ["an encoding that only REST knows", 501, "Get", proto, [good], header("content-encoding", "deflate")],
  ["a timeout that passes", 200, "Wait", proto, [], header("connect-timeout-ms", "9")],
  [
    "a compressed GET",
    200,
    "OnlyRpc",
    undefined,
    [],
    get(`encoding=proto&base64=1&compression=gzip&message=${base64(gzipSync(good))}`),
  ],
  ["a GET with a content type", 200, "OnlyRpc", jsonType, [], get("encoding=json&message={}")],
  [
    "a GET with the content type of a stream",
    415,
    "OnlyRpc",
    "application/connect+json",
    [],
    get("encoding=json&message={}"),
  ],
];
