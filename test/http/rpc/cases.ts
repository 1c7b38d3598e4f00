// What is asked of our handlers of unary calls and of Connect's own.
import { gzipSync } from "node:zlib";
import { create, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";
import { fixtureMessage } from "../../support/fixture.ts";
import { type Ask, unfinished } from "./asks.ts";

const Thing = fixtureMessage("Thing");
const Ruled = fixtureMessage("Ruled");

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
const halves = (bytes: Buffer) => [bytes.subarray(0, 7), bytes.subarray(7)];
const both = (...parts: Buffer[]) => [Buffer.concat(parts)];
const oneByOne = (bytes: Buffer) => [...bytes].map((byte) => Buffer.of(byte));

const empty = Buffer.alloc(0);
export const good = binary("a name");
const long = binary("long ".repeat(1_000));
const garbage = Buffer.from([0x0a, 0x7f, 0x00]);
const unruled = Buffer.from(toBinary(Ruled, create(Ruled)));
const framed = frame(good);
const tooLong = frame(good, 0, 2 ** 31);
const gzip = { "grpc-encoding": "gzip" };
const asks = (accepted: string) => ({ "grpc-accept-encoding": accepted });
const within = (timeout: string) => ({ "grpc-timeout": timeout });

/** Over gRPC and gRPC-Web: the grpc-status that comes out, the RPC, the body in parts, and header fields. */
export const enveloped: [string, string, string, Buffer[], Record<string, string>?][] = [
  ["a message", "0", "Get", [framed]],
  ["a message in parts", "0", "Get", halves(framed)],
  ["a message byte by byte", "0", "Get", oneByOne(framed)],
  ["an empty message", "0", "Get", [frame(empty)]],
  ["headers and trailers of a call", "0", "Get", [framed], { "x-probe": "trailer" }],
  ["a failure with details", "5", "Fail", [frame(binary("missing"))]],
  ["a failure with a wait", "14", "Fail", [frame(binary("unavailable"))]],
  ["an unknown failure", "13", "Fail", [frame(binary("x"))]],
  ["a thrown undefined", "13", "Fail", [frame(binary("nothing"))]],
  ["a violated rule", "3", "Rule", [frame(unruled)]],
  ["no credentials", "16", "Write", [frame(garbage)]],
  ["bad credentials", "16", "Write", [unfinished], { authorization: "Bearer bad" }],
  ["good credentials", "0", "Write", [framed], { authorization: "Bearer good" }],
  ["no body", "12", "Get", []],
  ["two messages", "12", "Get", both(framed, framed)],
  ["two messages in parts", "12", "Get", [framed, framed]],
  ["an undecodable message", "3", "Get", [frame(garbage)]],
  ["an undecodable message without an end", "3", "Get", [frame(garbage), unfinished]],
  ["an undecodable message after a good one", "3", "Get", both(framed, frame(garbage))],
  ["half a prefix", "3", "Get", [framed.subarray(0, 3)]],
  ["half a message", "3", "Get", [framed.subarray(0, 9)]],
  ["a prefix alone", "12", "Get", [framed.subarray(0, 5)]],
  ["half a second message", "3", "Get", [framed, framed.subarray(0, 9)]],
  ["a second prefix alone", "0", "Get", [framed, framed.subarray(0, 5)]],
  ["a message that is too large", "8", "Get", [frame(Buffer.alloc(262_145))]],
  ["the prefix of one that is too large", "8", "Get", [tooLong, unfinished]],
  ["one that is too large after a good one", "8", "Get", both(framed, tooLong)],
  ["one beyond the limit of its RPC", "8", "Rule", [frame(Buffer.alloc(100_000))]],
  ["a compressed message", "0", "Get", halves(frame(gzipSync(long), 1)), gzip],
  ["two compressed messages", "12", "Get", both(frame(gzipSync(long), 1), frame(gzipSync(long), 1)), gzip],
  ["a compressed message and half a one", "3", "Get", [frame(gzipSync(long), 1), framed.subarray(0, 9)], gzip],
  ["a compressed empty message", "0", "Get", [frame(empty, 1)], gzip],
  ["a compressed message that is too large", "8", "Get", [frame(gzipSync(Buffer.alloc(300_000)), 1)], gzip],
  ["what is no gzip", "3", "Get", [frame(good, 1)], gzip],
  ["gzip that ends too early", "3", "Get", [frame(gzipSync(long).subarray(0, 20), 1)], gzip],
  ["an encoding that is not used", "0", "Get", [framed], { "grpc-encoding": "br" }],
  ["a compressed reply", "0", "Get", [frame(long)], asks("deflate, gzip")],
  ["a reply compressed as the request", "0", "Get", [frame(long)], gzip],
  ["an uncompressed reply", "0", "Get", [frame(long)], asks("identity")],
  ["a short reply", "0", "Get", [framed], asks("gzip")],
  ["the flag of compression without an encoding", "13", "Get", [frame(good, 1)]],
  ["an unknown encoding", "12", "Get", [framed], { "grpc-encoding": "snappy" }],
  ["the identity encoding", "0", "Get", [framed], { "grpc-encoding": "identity" }],
  ["the content encoding of HTTP", "0", "Get", [framed], { "content-encoding": "identity" }],
  ["a timeout", "0", "Get", [framed], within("10S")],
  ["a timeout that is no timeout", "3", "Get", [framed], within("soon")],
  ["a timeout that is too long", "3", "Get", [framed], within("123456789S")],
  ["a timeout that has passed", "0", "Wait", [framed], within("0m")],
  ["a timeout that passes", "0", "Wait", [framed], within("9000u")],
];

const proto = "application/proto";
const jsonType = "application/json";
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
const get = (query: string) => ({ method: "GET", query: `?connect=v1&${query}` });
const header = (name: string, value: string) => ({ headers: { [name]: value } });

/** Over Connect: the HTTP status that comes out, the RPC, the content type, the body in parts, and what else is asked. */
export const plain: [string, number, string, string | undefined, Buffer[], Partial<Ask>?][] = [
  ["a message", 200, "Get", proto, [good]],
  ["a message in JSON", 200, "Get", jsonType, [json("x")]],
  ["a charset", 200, "Get", "application/json; charset=utf-8", halves(json("x"))],
  ["a byte order mark", 200, "Get", jsonType, [Buffer.from("\ufeff{}")]],
  ["no body", 200, "Get", proto, []],
  ["no body in JSON", 400, "Get", jsonType, []],
  ["headers and trailers of a call", 200, "Get", proto, [], header("x-probe", "trailer")],
  ["a failure with details", 404, "Fail", jsonType, [json("missing")]],
  ["a failure with a wait", 503, "Fail", proto, [binary("unavailable")]],
  ["an unknown failure", 500, "Fail", proto, [good]],
  ["a violated rule", 400, "Rule", jsonType, [Buffer.from("{}")]],
  [
    "a large failure",
    400,
    "Get",
    jsonType,
    [Buffer.from(`{"name": ["${"x".repeat(2_000)}"]}`)],
    header("accept-encoding", "gzip"),
  ],
  ["an empty message", 200, "Get", proto, []],
  ["an empty message and good credentials", 200, "Write", proto, [], header("authorization", "Bearer good")],
  ["no credentials", 401, "Write", proto, [garbage]],
  ["bad credentials", 401, "Write", proto, [garbage, unfinished], header("authorization", "Bearer bad")],
  ["an undecodable message", 400, "Get", proto, [garbage]],
  ["undecodable JSON", 400, "Get", jsonType, [Buffer.from('{"name": {}}')]],
  ["what is no JSON", 400, "Get", jsonType, [Buffer.from("{")]],
  ["invalid UTF-8", 200, "Get", jsonType, [Buffer.from('{"name": "\xff"}', "latin1")]],
  ["a message that is too large", 429, "Get", proto, [Buffer.alloc(262_145)]],
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
  ["a compressed reply", 200, "Get", proto, [long], header("accept-encoding", "gzip, br")],
  ["a reply in Brotli", 200, "Get", jsonType, [json("long ".repeat(400))], header("accept-encoding", "br")],
  ["a compressed request", 200, "Get", proto, [gzipSync(good)], header("content-encoding", "gzip")],
  ["an encoding that only REST knows", 501, "Get", proto, [good], header("content-encoding", "deflate")],
  ["an unknown encoding", 501, "Get", proto, [good], header("content-encoding", "snappy")],
  ["a timeout", 200, "Get", proto, [], header("connect-timeout-ms", "10000")],
  ["a timeout that is no timeout", 400, "Get", proto, [], header("connect-timeout-ms", "1.5")],
  ["a timeout that passes", 200, "Wait", proto, [], header("connect-timeout-ms", "9")],
  ["another version of the protocol", 200, "Get", proto, [], header("connect-protocol-version", "2")],
  ["the content type of a stream", 415, "Get", "application/connect+proto", [good]],
  ["a parameter of the content type", 415, "Get", "application/proto; x=y", [good]],
  ["gRPC-Web in Base64", 415, "Get", "application/grpc-web-text", [good]],
  ["the content type of a form", 415, "Get", "application/x-www-form-urlencoded", [Buffer.from("a=b")]],
  ["an upper-case content type", 200, "Get", "Application/JSON", [json("x")]],
  ["no content type", 415, "Get", undefined, [good]],
  ["an unknown RPC", 404, "Nope", jsonType, [json("x")], header("connect-protocol-version", "1")],
  ["the method PUT", 404, "Get", proto, [], { method: "PUT" }],
  ["the method GET for a write", 404, "Get", undefined, [], get("encoding=json&message={}")],
  ["a GET in JSON", 200, "OnlyRpc", undefined, [], get("encoding=json&message=%7B%22name%22%3A%22x%22%7D")],
  ["a GET in Base64", 200, "OnlyRpc", undefined, [], get(`encoding=proto&base64=1&message=${base64(good)}`)],
  [
    "a compressed GET",
    200,
    "OnlyRpc",
    undefined,
    [],
    get(`encoding=proto&base64=1&compression=gzip&message=${base64(gzipSync(good))}`),
  ],
  [
    "a GET that is no gzip",
    400,
    "OnlyRpc",
    undefined,
    [],
    get(`encoding=proto&base64=1&compression=gzip&message=${base64(good)}`),
  ],
  [
    "a GET with an unknown compression",
    501,
    "OnlyRpc",
    undefined,
    [],
    get("encoding=json&compression=snappy&message=x"),
  ],
  ["a GET without a message", 200, "OnlyRpc", undefined, [], get("encoding=proto")],
  ["a GET without an encoding", 415, "OnlyRpc", undefined, [], get("message={}")],
  ["a GET with a bad message", 400, "OnlyRpc", undefined, [], get("encoding=json&message=nothing")],
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
