import { createHash } from "node:crypto";
import { create, type DescMessage, type DescMethod, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { CreatePostRequestSchema, PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { fingerprintOf } from "../../src/idempotency/fingerprint.ts";

const createPost = PostService.method.createPost;

const hashOf = (rpc: DescMethod, init: MessageInitShape<DescMessage>) =>
  fingerprintOf(rpc, create(rpc.input, init)).toString("hex");

describe("the fingerprint of a call", () => {
  it("is the SHA-256 of the RPC's name and the message in binary form", () => {
    const message = create(CreatePostRequestSchema, { title: "T", body: "B", community: "c" });
    const expected = createHash("sha256")
      .update("stoa.v1.PostService/CreatePost\0")
      .update(toBinary(CreatePostRequestSchema, message))
      .digest();
    expect(fingerprintOf(createPost, message)).toEqual(expected);
  });

  it("does not count unknown fields", () => {
    const message = create(CreatePostRequestSchema, { title: "T" });
    const plain = fingerprintOf(createPost, message);
    message.$unknown = [{ no: 500, wireType: 0, data: new Uint8Array([1]) }];
    expect(fingerprintOf(createPost, message)).toEqual(plain);
  });

  it("differs for an optional field that is absent and one that is empty", () => {
    expect(hashOf(createPost, { title: "T" })).not.toBe(hashOf(createPost, { title: "T", community: "" }));
  });

  it("does not count the order of an object's members, and takes null among them", () => {
    const evidence = JSON.parse('{"a":null,"b":[{"d":1,"c":null},[2,1]],"__proto__":1}');
    const reversed = JSON.parse('{"__proto__":1,"b":[{"c":null,"d":1},[2,1]],"a":null}');
    const sealSession = LedgerOperatorService.method.sealSession;
    expect(hashOf(sealSession, { evidence })).toBe(hashOf(sealSession, { evidence: reversed }));
    const others = ['{"a":0', '{"a":null,"b":[[2,1],{"d":1,"c":null}]'].map((text) => `${text},"__proto__":1}`);
    for (const other of [...others, '{"a":null,"b":[{"d":1,"c":null},[2,1]]}'])
      expect(hashOf(sealSession, { evidence })).not.toBe(hashOf(sealSession, { evidence: JSON.parse(other) }));
    const { sealSessions } = LedgerOperatorService.method;
    const list = (...all: object[]) => ({ sessions: all.map((each) => ({ book: "a", evidence: each })) });
    expect(hashOf(sealSessions, list(evidence, {}))).toBe(hashOf(sealSessions, list(reversed, {})));
    expect(hashOf(sealSessions, list(evidence, {}))).not.toBe(hashOf(sealSessions, list({}, evidence)));
  });
});
