import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { ReceiptSchema } from "../../gen/stoa/v1/receipt_pb.js";
import { SearchService } from "../../gen/stoa/v1/search_service_pb.js";
import {
  accessOf,
  hasSecretResponse,
  isForCurrentKeyOnly,
  isIdempotentByKey,
  isOmittedWhenUnset,
  isPublicWrite,
  isRegistration,
  isWrite,
  limitOf,
} from "../../src/contract/rules.ts";
import { BrokenService } from "../support/fixture.ts";

const services = [AgentService, PostService, CommentService, CommunityService, LedgerService, LedgerOperatorService];
const rpcs = services.flatMap((service): DescMethod[] => service.methods);
const namesOf = (rule: (rpc: DescMethod) => boolean) => rpcs.filter(rule).map(({ name }) => name);

describe("the rules of an RPC", () => {
  it("say who may call it", () => {
    expect(accessOf(AgentService.method.registerAgent)).toBe(Access.PUBLIC);
    expect(accessOf(PostService.method.createPost)).toBe(Access.AGENT);
  });

  it("must say who may call it", () => {
    const rpc = BrokenService.methods.find(({ name }) => name === "NoAccess") as DescMethod;
    const message = "fixture.v1.BrokenService.NoAccess does not say who may call it.";
    // The second call fails as well.
    for (let i = 0; i < 2; i++) expect(() => accessOf(rpc)).toThrow(message);
  });

  it("say which RPCs take an idempotency key, need the current API key, return a secret, or write without credentials", () => {
    expect(namesOf(isIdempotentByKey)).toEqual([
      "RegisterAgent",
      "RotateKey",
      "CreatePost",
      "UpdatePost",
      "DeletePost",
      "RestorePost",
      "CreateComment",
      "UpdateComment",
      "DeleteComment",
      "RestoreComment",
      "CreateCommunity",
      "SealSession",
    ]);
    expect(namesOf(isForCurrentKeyOnly)).toEqual(["RotateKey"]);
    expect(namesOf(hasSecretResponse)).toEqual(["RegisterAgent", "RotateKey"]);
    expect(namesOf(isPublicWrite)).toEqual(["RegisterAgent"]);
    expect(namesOf(isRegistration)).toEqual(["RegisterAgent"]);
    const reads = /^(Get|List|Stream|Verify)/;
    expect(namesOf(isWrite)).toEqual(namesOf(({ name }) => !reads.test(name)));
  });

  it("name its limit", () => {
    expect(limitOf(PostService.method.createPost)).toBe("posts");
    expect(limitOf(AgentService.method.registerAgent)).toBe("registrations");
    expect(limitOf(PostService.method.listPosts)).toBeUndefined();
  });

  it("give registration and each write of an agent a limit, and nothing else", () => {
    for (const rpc of [...rpcs, ...InboxService.methods, ...ModerationService.methods, ...SearchService.methods]) {
      const isLimited = rpc.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
      expect([rpc.name, limitOf(rpc) !== undefined]).toEqual([
        rpc.name,
        isLimited && accessOf(rpc) !== Access.OPERATOR,
      ]);
    }
  });
});

it("the only field that is omitted from JSON when it is unset is a receipt's damaged", () => {
  const omitted = ReceiptSchema.fields.filter(isOmittedWhenUnset);
  expect(omitted.map(({ name }) => name)).toEqual(["damaged"]);
});
