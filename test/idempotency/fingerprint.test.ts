import { createHash } from "node:crypto";
import {
  create,
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  type DescService,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { CreatePostRequestSchema, PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { fingerprintOf } from "../../src/idempotency/fingerprint.ts";

const createPost = PostService.method.createPost;

const field = (name: string, number: number, typeName: string, label = Label.OPTIONAL) => ({
  name,
  number,
  label,
  type: Type.MESSAGE,
  typeName,
});

/** `Outer` holds `Inner` before its own map, and `Inner` holds `Outer`. */
function recursiveRpcs(): DescService {
  const file = create(FileDescriptorProtoSchema, {
    name: "recursive.proto",
    package: "t",
    syntax: "proto3",
    messageType: [
      {
        name: "Outer",
        field: [
          field("inner", 1, ".t.Inner"),
          field("labels", 2, ".t.Outer.LabelsEntry", Label.REPEATED),
          { name: "data", number: 3, label: Label.OPTIONAL, type: Type.BYTES },
        ],
        nestedType: [
          {
            name: "LabelsEntry",
            options: { mapEntry: true },
            field: [
              { name: "key", number: 1, label: Label.OPTIONAL, type: Type.STRING },
              { name: "value", number: 2, label: Label.OPTIONAL, type: Type.STRING },
            ],
          },
        ],
      },
      { name: "Inner", field: [field("outer", 1, ".t.Outer"), field("list", 2, ".t.Outer", Label.REPEATED)] },
    ],
    service: [
      {
        name: "S",
        method: [
          { name: "TakeOuter", inputType: ".t.Outer", outputType: ".t.Outer" },
          { name: "TakeInner", inputType: ".t.Inner", outputType: ".t.Inner" },
        ],
      },
    ],
  });
  return createFileRegistry(file, () => undefined).getService("t.S") as DescService;
}

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

  it("does not count the order of a map's members, wherever the map is", () => {
    const [takeOuter, takeInner] = recursiveRpcs().methods as [DescMethod, DescMethod];
    const labels = { b: "1", a: "2" };
    const reversed = { a: "2", b: "1" };
    expect(hashOf(takeOuter, { labels })).toBe(hashOf(takeOuter, { labels: reversed }));
    // Outer holds Inner before its own map. What was found out about Outer must not spoil what is known of Inner.
    expect(hashOf(takeInner, { outer: { labels } })).toBe(hashOf(takeInner, { outer: { labels: reversed } }));
    expect(hashOf(takeInner, { list: [{ labels }] })).toBe(hashOf(takeInner, { list: [{ labels: reversed }] }));
    expect(hashOf(takeOuter, { labels })).not.toBe(hashOf(takeOuter, { labels: { b: "2", a: "1" } }));
  });

  it("counts the order of a list, and bytes beside a map", () => {
    const [takeOuter, takeInner] = recursiveRpcs().methods as [DescMethod, DescMethod];
    const [one, two] = [{ labels: { a: "1" } }, { labels: { a: "2" } }];
    expect(hashOf(takeInner, { list: [one, two] })).not.toBe(hashOf(takeInner, { list: [two, one] }));
    const bytes = (...data: number[]) => hashOf(takeOuter, { data: new Uint8Array(data) });
    expect(bytes(1, 2)).toBe(bytes(1, 2));
    expect(bytes(1, 2)).not.toBe(bytes(2, 1));
  });

  it("does not count the order of an object's members, and takes null among them", () => {
    const evidence = { a: null, b: [{ d: 1, c: null }] };
    const reversed = { b: [{ c: null, d: 1 }], a: null };
    const sealSession = LedgerOperatorService.method.sealSession;
    expect(hashOf(sealSession, { evidence })).toBe(hashOf(sealSession, { evidence: reversed }));
    expect(hashOf(sealSession, { evidence })).not.toBe(hashOf(sealSession, { evidence: { ...evidence, a: 0 } }));
    const { sealSessions } = LedgerOperatorService.method;
    const list = (...all: object[]) => ({ sessions: all.map((each) => ({ book: "a", evidence: each })) });
    expect(hashOf(sealSessions, list(evidence, {}))).toBe(hashOf(sealSessions, list(reversed, {})));
    expect(hashOf(sealSessions, list(evidence, {}))).not.toBe(hashOf(sealSessions, list({}, evidence)));
  });

  it("counts a member called __proto__", () => {
    const [takeOuter] = recursiveRpcs().methods as [DescMethod];
    const labels = Object.fromEntries([["__proto__", "x"]]);
    expect(hashOf(takeOuter, { labels })).not.toBe(hashOf(takeOuter, {}));
  });
});
