// Calls over the Connect protocol, in JSON and binary, and what may come back.
import { type DescMethod, fromBinary, fromJsonString, type Message, toBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import type { Code } from "@connectrpc/connect";
import { codeFromString, codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import fc, { type Arbitrary } from "fast-check";
import { expect } from "vitest";
import { ErrorDetailSchema } from "../../../gen/stoa/v1/error_pb.js";
import { errorStatus } from "../../../src/errors.ts";
import { jsonBodies } from "./bodies.ts";
import { authorizations, type Header, oddHeaders } from "./headers.ts";
import { describeRequest, type RawReply, type RawRequest } from "./raw-http.ts";
import type { World } from "./requests.ts";

export type Encoding = "json" | "proto";

/** Calls of an RPC, most of them nearly right. A stream ends soon by its deadline. */
export function callOf(rpc: DescMethod, encoding: Encoding, { known, keys }: World): Arbitrary<RawRequest> {
  const isStream = rpc.methodKind !== "unary";
  const type = `application/${isStream ? "connect+" : ""}${encoding}`;
  const json = jsonBodies(rpc.input.fields, known, "proto").map((text) => Buffer.from(text, "latin1"));
  const message = encoding === "json" ? json : binaryOf(rpc, json);
  const body = isStream ? enveloped(message) : message;
  const more: Header[] = isStream ? [["Connect-Timeout-Ms", "100"]] : [];
  return fc.tuple(authorizations(keys), oddHeaders, body).map(([authorization, odd, bytes]) => ({
    method: "POST",
    target: `/${rpc.parent.typeName}/${rpc.name}`,
    headers: [
      ["Host", "127.0.0.1"],
      ["Connection", "close"],
      ["Content-Type", type],
      ...authorization,
      ...more,
      ...odd.filter(([name]) => name !== "Content-Type" && !(isStream && /timeout/i.test(name))),
      ["Content-Length", String(bytes.length)],
    ],
    body: bytes,
    isCutOff: false,
  }));
}

/** The binary form of what the JSON says, sometimes bent; where the JSON says nothing, any bytes. */
function binaryOf(rpc: DescMethod, json: Arbitrary<Buffer>): Arbitrary<Buffer> {
  const noise = fc.record({
    at: fc.nat(),
    byte: fc.nat(255),
    kind: fc.constantFrom("none", "none", "none", "set", "cut", "add"),
  });
  return fc.tuple(json, noise, fc.uint8Array({ maxLength: 60 })).map(([text, { at, byte, kind }, random]) => {
    let bytes: Buffer;
    try {
      const message = fromJsonString(rpc.input, text.toString("utf8"), { ignoreUnknownFields: true });
      bytes = Buffer.from(toBinary(rpc.input, message));
    } catch {
      return Buffer.from(random);
    }
    const n = bytes.length === 0 ? 0 : at % bytes.length;
    if (kind === "set" && bytes.length > 0) bytes[n] = byte;
    if (kind === "cut") return bytes.subarray(0, n);
    return kind === "add" ? Buffer.concat([bytes, Buffer.from(random)]) : bytes;
  });
}

/** As the message of a stream: a byte of flags and the length before it; or with lies in both. */
function enveloped(message: Arbitrary<Buffer>): Arbitrary<Buffer> {
  const lies = fc.oneof(
    { weight: 8, arbitrary: fc.constant([0, 0]) },
    fc.constantFrom([1, 0], [2, 0], [255, 0], [0, 1], [0, -1], [0, 2 ** 31]),
  );
  return fc.tuple(message, lies).map(([bytes, [flags = 0, more = 0]]) => {
    const head = Buffer.alloc(5);
    head[0] = flags;
    head.writeUInt32BE(Math.max(0, bytes.length + more), 1);
    return Buffer.concat([head, bytes]);
  });
}

/** What Connect itself may say, before any code of ours runs: of messages that it cannot decode, and of its own headers. */
const ofConnect = ["invalid_argument", "unimplemented", "resource_exhausted", "deadline_exceeded"];

/**
 * Checks that a reply is one that the protocol and our errors know.
 * @returns the message of a unary call that succeeded
 * @throws AssertionError with the request
 */
export function checkCall(
  rpc: DescMethod,
  encoding: Encoding,
  request: RawRequest,
  reply: RawReply | undefined,
): Message | undefined {
  const shown = `${reply?.status} ${reply?.body.toString("utf8").slice(0, 500)} to\n${describeRequest(request)}`;
  if (reply === undefined) throw new Error(`no reply to\n${shown}`);
  const { status, headers, body } = reply;
  const type = headers.get("content-type") ?? "";
  if (type === `application/connect+${encoding}`) {
    expect(status, shown).toBe(200);
    return void checkStream(body, shown);
  }
  if (status === 200) {
    expect(type, shown).toBe(`application/${encoding}`);
    return encoding === "proto" ? fromBinary(rpc.output, body) : fromJsonString(rpc.output, body.toString("utf8"));
  }
  // Only a stream's other content types have no words: those that Connect does not take.
  if (status === 415) return void expect(body.length, shown).toBe(0);
  const error = JSON.parse(body.toString("utf8"));
  if (error.ok === false) return void expect([400, 408, 417, 431], shown).toContain(status);
  // https://connectrpc.com/docs/protocol#error-codes
  expect(status, shown).toBe(codeToHttpStatus(codeFromString(error.code) as Code));
  checkError(error, shown);
  return undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: an error is read as an untyped client does.
function checkError({ code, message, details, ...rest }: any, shown: string): void {
  expect(rest, shown).toEqual({});
  expect(message === undefined || typeof message === "string", shown).toBe(true);
  const detail = details?.find(({ type }: { type: string }) => type === ErrorDetailSchema.typeName);
  // gRPC's own word for a compressed message without a named compression, which Connect follows:
  // https://github.com/grpc/grpc/blob/master/doc/compression.md
  if (code === "internal") return void expect(message, shown).toMatch(/^received compressed envelope/);
  if (detail === undefined) return void expect(ofConnect, shown).toContain(code);
  const { error } = fromBinary(ErrorDetailSchema, base64Decode(detail.value));
  expect(Object.keys(errorStatus), shown).toContain(error);
  expect(errorStatus[error as keyof typeof errorStatus], shown).toBeLessThan(500);
}

/** The messages of a stream end with one that says how it ended. */
function checkStream(body: Buffer, shown: string): void {
  let at = 0;
  let flags = 0;
  let last: Buffer = body;
  while (at < body.length) {
    flags = body[at] as number;
    const length = body.readUInt32BE(at + 1);
    last = body.subarray(at + 5, at + 5 + length);
    at += 5 + length;
  }
  expect([at, flags & 2], shown).toEqual([body.length, 2]);
  const { error } = JSON.parse(last.toString("utf8"));
  if (error !== undefined) checkError(error, shown);
}
