import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { HealthCheckRequestSchema } from "../../gen/grpc/health/v1/health_pb.js";
import { ServerReflectionRequestSchema } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { SealSessionRequestSchema } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { StreamReceiptsRequestSchema } from "../../gen/stoa/v1/ledger_service_pb.js";
import { CreatePostRequestSchema } from "../../gen/stoa/v1/post_service_pb.js";
import { maxBinarySize } from "../../src/contract/message-limits.ts";
import { fixtureMessage } from "../support/fixture.ts";

const kib = 1024;

describe("maxBinarySize", () => {
  it("is small for a message without long strings", () => {
    for (const desc of [StreamReceiptsRequestSchema, HealthCheckRequestSchema, ServerReflectionRequestSchema]) {
      expect(maxBinarySize(desc, 256 * kib)).toBe(16 * kib);
    }
  });

  it("allows the longest valid message in the longest characters, and a message that is just too long to be valid", () => {
    const limit = maxBinarySize(CreatePostRequestSchema, 256 * kib);
    const longest = create(CreatePostRequestSchema, { title: "😀".repeat(300), body: "😀".repeat(10_001) });
    const bytes = toBinary(CreatePostRequestSchema, longest);
    expect(bytes.length).toBeLessThan(limit);
    expect(fromBinary(CreatePostRequestSchema, bytes)).toEqual(longest);
    expect(limit).toBeLessThan(100 * kib);
  });

  it("counts the bounded strings of a message and its nested messages twice, at four bytes per character", () => {
    // 5 characters, and 5 in the nested message. Enums and strings without a rule do not count.
    expect(maxBinarySize(fixtureMessage("Bounded"), 256 * kib)).toBe(16 * kib + 2 * 4 * (5 + 5));
    expect(maxBinarySize(fixtureMessage("Bounded"), 16 * kib + 80)).toBe(16 * kib + 80);
    expect(maxBinarySize(fixtureMessage("Bounded"), 16 * kib + 79)).toBe(16 * kib + 79);
  });

  it("is the upper limit for a recursive message", () => {
    expect(maxBinarySize(fixtureMessage("Chain"), 256 * kib)).toBe(256 * kib);
  });

  it("is the upper limit for a message with any number of values", () => {
    expect(maxBinarySize(SealSessionRequestSchema, 256 * kib)).toBe(256 * kib);
  });
});
