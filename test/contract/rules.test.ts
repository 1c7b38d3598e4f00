// What the whole contract says of its RPCs. test/http/rest/contract.test.ts has contracts that say too little.
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { type RpcRules, rulesOf } from "../../src/contract/rules.ts";

const rpcs = (await contractServices()).flatMap(({ methods }) => methods);
const namesOf = (rule: (rules: RpcRules) => boolean) =>
  rpcs.filter((rpc) => rule(rulesOf(rpc))).map(({ name }) => name);

it("few RPCs need the current API key, are open to the suspended, return a secret, or write without credentials", () => {
  expect(namesOf((rules) => rules.isForCurrentKeyOnly)).toEqual(["RotateKey", "DeleteMe"]);
  expect(namesOf((rules) => rules.isWrite && rules.isOpenToSuspended)).toEqual(["DeleteMe"]);
  expect(namesOf((rules) => rules.hasSecretResponse)).toEqual(["RegisterAgent", "RotateKey"]);
  expect(namesOf((rules) => rules.isPublicWrite)).toEqual(["RegisterAgent"]);
  expect(namesOf((rules) => rules.isRegistration)).toEqual(["RegisterAgent"]);
});

it("what creates, edits, removes, restores or seals takes an idempotency key", () => {
  const posts = ["CreatePost", "UpdatePost", "DeletePost", "RestorePost"];
  const others = ["RegisterAgent", "RotateKey", "CreateCommunity", "SealSession", "SealSessions"];
  const comments = posts.map((name) => name.replace("Post", "Comment"));
  expect(namesOf((rules) => rules.isIdempotentByKey).toSorted()).toEqual([...posts, ...comments, ...others].toSorted());
});

it("registration and each write of an agent have a limit, and nothing else has one", () => {
  for (const rpc of rpcs) {
    const isLimited = rpc.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
    const { limit, access } = rulesOf(rpc);
    expect([rpc.name, limit !== undefined]).toEqual([rpc.name, isLimited && access !== Access.OPERATOR]);
  }
});
