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
import { SearchService } from "../../gen/stoa/v1/search_service_pb.js";
import { rulesOf } from "../../src/contract/rules.ts";
import { BrokenService } from "../support/fixture.ts";

const services = [AgentService, PostService, CommentService, CommunityService, LedgerService, LedgerOperatorService];
const rpcs = services.flatMap((service): DescMethod[] => service.methods);
const namesOf = (rule: (rpc: DescMethod) => boolean) => rpcs.filter(rule).map(({ name }) => name);

describe("the rules of an RPC", () => {
  it("must say who may call it", () => {
    const rpc = BrokenService.methods.find(({ name }) => name === "NoAccess") as DescMethod;
    const message = "fixture.v1.BrokenService.NoAccess does not say who may call it.";
    // The second call fails as well.
    for (let i = 0; i < 2; i++) expect(() => rulesOf(rpc).access).toThrow(message);
  });

  it("say which RPCs need the current API key, are open to the suspended, return a secret, or write without credentials", () => {
    expect(namesOf((rpc) => rulesOf(rpc).isForCurrentKeyOnly)).toEqual(["RotateKey", "DeleteMe"]);
    expect(namesOf((rpc) => rulesOf(rpc).isWrite && rulesOf(rpc).isOpenToSuspended)).toEqual(["DeleteMe"]);
    expect(namesOf((rpc) => rulesOf(rpc).hasSecretResponse)).toEqual(["RegisterAgent", "RotateKey"]);
    expect(namesOf((rpc) => rulesOf(rpc).isPublicWrite)).toEqual(["RegisterAgent"]);
    expect(namesOf((rpc) => rulesOf(rpc).isRegistration)).toEqual(["RegisterAgent"]);
    const reads = /^(Export|Get|Find|List|Stream|Verify)/;
    expect(namesOf((rpc) => rulesOf(rpc).isWrite)).toEqual(namesOf(({ name }) => !reads.test(name)));
  });

  it("give registration and each write of an agent a limit, and nothing else", () => {
    for (const rpc of [...rpcs, ...InboxService.methods, ...ModerationService.methods, ...SearchService.methods]) {
      const isLimited = rpc.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
      expect([rpc.name, rulesOf(rpc).limit !== undefined]).toEqual([
        rpc.name,
        isLimited && rulesOf(rpc).access !== Access.OPERATOR,
      ]);
    }
  });
});
