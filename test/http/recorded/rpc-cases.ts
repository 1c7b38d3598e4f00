// Unary RPCs in each protocol, good and bad, and streams to their end.
import { gzipSync } from "node:zlib";
import type { Case } from "./cases.ts";

/** Puts a message into an envelope, with any flags and any length in its prefix. */
export function frame(data: Uint8Array | string, flags = 0, length = Buffer.from(data).length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, Buffer.from(data)]);
}

/** GetPostRequest { id: 1 }, and the same of a post that does not exist. */
const one = Buffer.from([0x08, 0x01]);
const none = Buffer.from([0x08, 0x9f, 0x8d, 0x06]);
const minusOne = Buffer.from([0x08, ...Array(9).fill(0xff), 0x01]);
const garbage = Buffer.from([0x0a, 0x7f, 0x00]);
const getPost = "/stoa.v1.PostService/GetPost";
const createPost = "/stoa.v1.PostService/CreatePost";
const getMe = "/stoa.v1.AgentService/GetMe";
const seal = "/stoa.v1.LedgerOperatorService/SealDaily";
const streamed = "/stoa.v1.LedgerService/StreamReceipts";
const unknown = "/stoa.v1.PostService/Nothing";
const health = "/grpc.health.v1.Health/Check";

const envelopedTypes = ["grpc", "grpc+json", "grpc-web+proto", "grpc-web+json"].map((type) => `application/${type}`);

type Field = [string, string];

function* enveloped(type: string): Generator<Case> {
  const isJson = type.endsWith("json");
  const get = isJson ? '{"id": 1}' : one;
  const bodies: [string, string, Buffer | undefined, Field[]?, string?][] = [
    ["a message", getPost, frame(get)],
    ["a message of nothing", getPost, frame("")],
    ["a post that does not exist", getPost, frame(isJson ? '{"id": "99999"}' : none)],
    ["a violated rule", getPost, frame(isJson ? '{"id": -1}' : minusOne)],
    ["an undecodable message", getPost, frame(isJson ? "{" : garbage)],
    ["no body", getPost, undefined],
    ["two messages", getPost, Buffer.concat([frame(get), frame(get)])],
    ["half a prefix", getPost, frame(get).subarray(0, 3)],
    ["half a message", getPost, frame(get).subarray(0, 6)],
    ["a message that is too large", getPost, frame(Buffer.alloc(300_000))],
    ["the flag of compression without an encoding", getPost, frame(get, 1)],
    ["a compressed message", getPost, frame(gzipSync(get), 1), [["grpc-encoding", "gzip"]]],
    ["what is no gzip", getPost, frame(get, 1), [["grpc-encoding", "gzip"]]],
    ["an unknown encoding", getPost, frame(get), [["grpc-encoding", "snappy"]]],
    ["a compressed reply", getPost, frame(get), [["grpc-accept-encoding", "gzip"]]],
    ["a timeout that is none", getPost, frame(get), [["grpc-timeout", "soon"]]],
    ["a timeout that has passed", getPost, frame(get), [["grpc-timeout", "0m"]]],
    ["no credentials", createPost, frame(isJson ? "{" : garbage)],
    ["bad credentials", getMe, frame(""), [["authorization", "Bearer bad"]]],
    ["good credentials", getMe, frame(isJson ? "{}" : ""), [], "Zeno"],
    ["a create without a title", createPost, frame(isJson ? "{}" : ""), [], "Zeno"],
    ["an operator's call", seal, frame(isJson ? "{}" : "")],
    ["an unknown RPC", unknown, frame(get)],
    ["an unknown service", "/stoa.v1.Nothing/Get", frame(get)],
    ["health", health, frame(isJson ? "{}" : "")],
    ["health of an unknown service", health, frame(isJson ? '{"service":"x"}' : Buffer.from([0x0a, 0x01, 0x78]))],
    ["a stream to its end", streamed, frame(isJson ? '{"from": 1}' : one)],
    ["a stream beyond the head", streamed, frame(isJson ? '{"from": 99}' : Buffer.from([0x08, 0x63]))],
    ["a stream of garbage", streamed, frame(isJson ? "{" : garbage)],
    ["a stream of nothing", streamed, undefined],
    ["a stream of two messages", streamed, Buffer.concat([frame(""), frame("")])],
    ["a stream of half a message", streamed, frame(get).subarray(0, 6)],
    ["a stream of a message that is too large", streamed, frame(Buffer.alloc(300_000))],
    ["a stream of an unknown encoding", streamed, frame(""), [["grpc-encoding", "lzw"]]],
    ["a stream of a compressed message without an encoding", streamed, frame(get, 1)],
    ["a stream with a timeout that is none", streamed, frame(""), [["grpc-timeout", "soon"]]],
    ["a stream that begins nowhere", streamed, frame(isJson ? '{"from": []}' : garbage)],
  ];
  for (const [what, target, body, fields = [], as] of bodies) {
    const headers: Field[] = [["content-type", type], ["te", "trailers"], ...fields];
    yield { name: `${type}: ${what}`, method: "POST", target, headers, body, as };
  }
}

function* plain(type: string): Generator<Case> {
  const isJson = type.includes("json");
  const get = isJson ? Buffer.from('{"id": "1"}') : one;
  const bodies: [string, string, Buffer | undefined, Field[]?, string?][] = [
    ["a message", getPost, get],
    ["no body", getPost, undefined],
    ["a post that does not exist", getPost, isJson ? Buffer.from('{"id": "99999"}') : none],
    ["a violated rule", getPost, isJson ? Buffer.from('{"id": "-1"}') : minusOne],
    ["an undecodable message", getPost, isJson ? Buffer.from("{") : garbage],
    ["an unknown member", getPost, isJson ? Buffer.from('{"id": 1, "nothing": 1}') : Buffer.from([8, 1, 0x50, 1])],
    ["a message that is too large", getPost, Buffer.alloc(300_000, " ")],
    ["a compressed message", getPost, gzipSync(get), [["content-encoding", "gzip"]]],
    ["what is no gzip", getPost, get, [["content-encoding", "gzip"]]],
    ["an unknown encoding", getPost, get, [["content-encoding", "snappy"]]],
    ["a compressed reply", getPost, get, [["accept-encoding", "gzip"]]],
    ["a timeout that is none", getPost, get, [["connect-timeout-ms", "soon"]]],
    ["a timeout that has passed", getPost, get, [["connect-timeout-ms", "0"]]],
    ["another version of the protocol", getPost, get, [["connect-protocol-version", "2"]]],
    ["this version of the protocol", getPost, get, [["connect-protocol-version", "1"]]],
    ["no credentials", createPost, garbage],
    ["bad credentials", getMe, isJson ? Buffer.from("{}") : undefined, [["authorization", "Bearer bad"]]],
    ["good credentials", getMe, isJson ? Buffer.from("{}") : undefined, [], "Zeno"],
    ["an operator's call", seal, isJson ? Buffer.from("{}") : undefined],
    ["an unknown RPC", unknown, get],
    ["health", health, isJson ? Buffer.from("{}") : undefined],
    ["a stream", streamed, get],
  ];
  for (const [what, target, body, fields = [], as] of bodies) {
    yield { name: `${type}: ${what}`, method: "POST", target, headers: [["content-type", type], ...fields], body, as };
  }
}

function* gets(): Generator<Case> {
  const queries = [
    "connect=v1&encoding=json&message=%7B%22id%22%3A%221%22%7D",
    "connect=v1&encoding=proto&base64=1&message=CAE",
    "connect=v1&encoding=proto&base64=1&message=CAE%3D",
    "connect=v1&encoding=proto&base64=1&message=!",
    "connect=v1&encoding=json&message=nothing",
    "connect=v1&encoding=json",
    "connect=v1&message=%7B%7D",
    "encoding=json&message=%7B%22id%22%3A%221%22%7D",
    "connect=v2&encoding=json&message=%7B%7D",
    "connect=v1&encoding=json&compression=gzip&message=x",
    "connect=v1&encoding=json&compression=snappy&message=x",
    "connect=v1&encoding=xml&message=x",
    "",
  ];
  for (const query of queries) yield { name: `GET of an RPC: ${query}`, method: "GET", target: `${getPost}?${query}` };
  yield { name: "GET of a write", method: "GET", target: `${createPost}?connect=v1&encoding=json&message=%7B%7D` };
  yield { name: "GET of a stream", method: "GET", target: `${streamed}?connect=v1&encoding=json&message=%7B%7D` };
  for (const method of ["PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]) {
    yield { name: `${method} of an RPC`, method, target: getPost, headers: [["content-type", "application/proto"]] };
  }
}

/** All cases of RPCs, in the order in which they are sent. */
export function rpcCases(): Case[] {
  const plainTypes = ["application/json", "application/proto"];
  const streamTypes = ["application/connect+json", "application/connect+proto"];
  const oddTypes = ["text/plain", "application/xml", "application/x-www-form-urlencoded", "application/grpcx"];
  oddTypes.push("application/grpc-web-text", "application/connect", "", "nonsense");
  const streams = streamTypes.flatMap((type): Case[] => {
    const isJson = type.endsWith("json");
    const headers: Field[] = [["content-type", type]];
    const asked = (what: string, body?: Buffer, target = streamed): Case => {
      return { name: `${type}: ${what}`, method: "POST", target, headers, body };
    };
    return [
      asked("a stream to its end", frame(isJson ? '{"from": "1"}' : one)),
      asked("a stream beyond the head", frame(isJson ? '{"from": "99"}' : Buffer.from([0x08, 0x63]))),
      asked("garbage", frame(garbage)),
      asked("no body"),
      asked("an unary RPC", frame(isJson ? '{"id": "1"}' : one), getPost),
    ];
  });
  const odd = oddTypes.flatMap((type): Case[] =>
    [getPost, createPost, streamed, unknown].map((target) => ({
      name: `the type ${type} for ${target}`,
      method: "POST",
      target,
      headers: type === "" ? [] : [["content-type", type]],
      body: one,
    })),
  );
  const spellings: [string, Buffer][] = [
    ["application/grpc+proto", frame(one)],
    ["application/json; charset=utf-8", Buffer.from('{"id": "1"}')],
    ["application/proto; x=y", one],
    ["Application/JSON", Buffer.from('{"id": "1"}')],
  ];
  const spelled = spellings.map(([type, body]): Case => {
    return { name: `${type}: a message`, method: "POST", target: getPost, headers: [["content-type", type]], body };
  });
  return [
    ...envelopedTypes.flatMap((type) => [...enveloped(type)]),
    ...plainTypes.flatMap((type) => [...plain(type)]),
    ...spelled,
    ...gets(),
    ...streams,
    ...odd,
  ];
}
