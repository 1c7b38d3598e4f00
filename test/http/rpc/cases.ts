// Unary calls of the fixture beyond what ../recorded/rpc-cases.ts asks of the contract: how bodies arrive and end, what calls
// give that ours never do, and limits of an RPC.
import { gzipSync } from "node:zlib";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { fixtureMessage } from "../../support/fixture.ts";
import type { Case } from "../recorded/cases.ts";
import { frame } from "../recorded/rpc-cases.ts";

type Field = [string, string];

const Thing = fixtureMessage("Thing");
const thing = (name: string) => create(Thing, { name } as never);
const binary = (name: string) => Buffer.from(toBinary(Thing, thing(name)));
const json = (name: string) => Buffer.from(toJsonString(Thing, thing(name)));

const good = binary("a name");
const long = binary("long ".repeat(1_000));
const garbage = Buffer.from([0x0a, 0x7f, 0x00]);
const framed = frame(good);
const tooLong = frame(good, 0, 2 ** 31);
const longGzip = frame(gzipSync(long), 1);
const gzip: Field[] = [["grpc-encoding", "gzip"]];
const within = (timeout: string): Field[] => [["grpc-timeout", timeout]];

/** A body in parts, which the service reads apart. */
const chunked: Field[] = [["transfer-encoding", "chunked"]];
const unfinished = (...parts: Buffer[]) =>
  Buffer.concat(parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]));
const inParts = (...parts: Buffer[]) => Buffer.concat([unfinished(...parts), Buffer.from("0\r\n\r\n")]);

type Asked = [what: string, rpc: string, body: Buffer, fields?: Field[]];

/** Over gRPC and gRPC-Web. */
const enveloped: Asked[] = [
  ["a message byte by byte", "Get", inParts(...[...framed].map((byte) => Buffer.of(byte))), chunked],
  ["headers and trailers of a call", "Get", framed, [["x-probe", "trailer"]]],
  ["a failure with a wait", "Fail", frame(binary("unavailable"))],
  ["an unknown failure", "Fail", frame(binary("x"))],
  ["a thrown undefined", "Fail", frame(binary("nothing"))],
  ["bad credentials before a body", "Write", unfinished(), [...chunked, ["authorization", "Bearer bad"]]],
  ["two messages in parts", "Get", inParts(framed, framed), chunked],
  ["an undecodable message without an end", "Get", unfinished(frame(garbage)), chunked],
  ["an undecodable message after a good one", "Get", Buffer.concat([framed, frame(garbage)])],
  ["a prefix alone", "Get", framed.subarray(0, 5)],
  ["half a second message", "Get", inParts(framed, framed.subarray(0, 9)), chunked],
  ["a second prefix alone", "Get", inParts(framed, framed.subarray(0, 5)), chunked],
  ["the prefix of one that is too large", "Get", unfinished(tooLong), chunked],
  ["one that is too large after a good one", "Get", Buffer.concat([framed, tooLong])],
  ["one beyond the limit of its RPC", "Rule", frame(Buffer.alloc(100_000))],
  ["two compressed messages", "Get", Buffer.concat([longGzip, longGzip]), gzip],
  ["a compressed message and half a one", "Get", inParts(longGzip, framed.subarray(0, 9)), [...chunked, ...gzip]],
  ["a compressed empty message", "Get", frame("", 1), gzip],
  ["a compressed message that is too large", "Get", frame(gzipSync(Buffer.alloc(300_000)), 1), gzip],
  ["gzip that ends too early", "Get", frame(gzipSync(long).subarray(0, 20), 1), gzip],
  ["an encoding that is not used", "Get", framed, [["grpc-encoding", "br"]]],
  ["a reply compressed as the request", "Get", frame(long), gzip],
  ["a short reply", "Get", framed, [["grpc-accept-encoding", "gzip"]]],
  ["the content encoding of HTTP", "Get", framed, [["content-encoding", "identity"]]],
  ["a timeout", "Get", framed, within("10S")],
  ["a timeout that is too long", "Get", framed, within("123456789S")],
  ["a timeout that passes", "Wait", framed, within("9000u")],
];

/** Over both in JSON. The last has a character that a header must spell in another way. */
const texts = ['{"name": 7}', '\ufeff{"unknown": 1}', "\u{1f600}"];

/** Over gRPC-Web: its trailers come in the body, and need not make sense. */
const web: Asked[] = [
  ["a trailer of its own", "Get", Buffer.concat([framed, frame("a: b\r\n", 0x80)])],
  ["trailers that are no gzip", "Get", Buffer.concat([framed, frame("no gzip", 0x81)]), gzip],
];

const proto: Field = ["content-type", "application/proto"];
const jsonType: Field = ["content-type", "application/json"];
const brief = '{"title": "ok", "number": 1}';

/** Over Connect. */
const connect: Asked[] = [
  ["a byte order mark", "Get", Buffer.from("\ufeff{}"), [jsonType]],
  ["headers and trailers of a call", "Get", good, [proto, ["x-probe", "trailer"]]],
  ["a failure with a wait", "Fail", binary("unavailable"), [proto]],
  ["an unknown failure", "Fail", good, [proto]],
  [
    "a large failure",
    "Get",
    Buffer.from(`{"name": ["${"x".repeat(2_000)}"]}`),
    [jsonType, ["accept-encoding", "gzip"]],
  ],
  ["bad credentials", "Write", unfinished(garbage), [proto, ...chunked, ["authorization", "Bearer bad"]]],
  ["invalid UTF-8", "Get", Buffer.from('{"name": "\xff"}', "latin1"), [jsonType]],
  ["one beyond the limit of its RPC", "Rule", Buffer.alloc(100_000), [proto]],
  ["JSON beyond that limit", "Rule", Buffer.from(brief.padEnd(100_000)), [jsonType]],
  ["a reply in Brotli", "Get", json("long ".repeat(400)), [jsonType, ["accept-encoding", "br"]]],
  ["an encoding that only REST knows", "Get", good, [proto, ["content-encoding", "deflate"]]],
  ["a timeout that passes", "Wait", good, [proto, ["connect-timeout-ms", "9"]]],
];

/** By GET over Connect. */
const compressed = `base64=1&compression=gzip&message=${gzipSync(good).toString("base64url")}`;
const gets: [what: string, query: string, fields?: Field[]][] = [
  ["a compressed GET", `encoding=proto&${compressed}`],
  ["a GET with a content type", "encoding=json&message={}", [jsonType]],
  ["a GET with the type of a stream", "encoding=json&message={}", [["content-type", "application/connect+json"]]],
];

/** What is asked over a version of HTTP. Only HTTP/1.1 has a framing of bodies that come in parts. */
export function unaryCases(version: "1.1" | "2"): Case[] {
  const grpc = version === "2" ? "application/grpc" : "application/grpc+proto";
  const caseOf = (type: string | undefined, [what, rpc, body, fields = []]: Asked): Case => {
    const headers = type === undefined ? fields : [["content-type", type] as const, ...fields];
    const name = `${type ?? "Connect"}: ${what}`;
    return { name, method: "POST", target: `/fixture.v1.EchoService/${rpc}`, headers: headers as Field[], body };
  };
  const inJson = ["application/grpc+json", "application/grpc-web+json; charset=utf-8"].flatMap((type) =>
    texts.map((text) => caseOf(type, [text, "Get", frame(text)])),
  );
  const get = ([name, query, headers]: (typeof gets)[number]): Case => {
    return { name, method: "GET", target: `/fixture.v1.EchoService/OnlyRpc?connect=v1&${query}`, headers };
  };
  return [
    ...[grpc, "application/grpc-web+proto"].flatMap((type) => enveloped.map((each) => caseOf(type, each))),
    ...inJson,
    ...web.map((each) => caseOf("application/grpc-web", each)),
    ...connect.map((each) => caseOf(undefined, each)),
    ...gets.map(get),
  ].filter(({ headers }) => version === "1.1" || !headers?.some(([name]) => name === "transfer-encoding"));
}
