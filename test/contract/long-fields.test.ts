// A list or a text may be as long as a body. What breaks its rule is refused for that, without a look at all the rest.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import {
  AgentService,
  type GetMyVotesRequest,
  GetMyVotesRequestSchema,
  RegisterAgentRequestSchema,
} from "../../gen/stoa/v1/agent_service_pb.js";
import { checkRules } from "../../src/contract/field-rules.ts";
import { RequestBodies } from "../../src/http/requests/bodies.ts";
import { createMessages } from "../../src/http/rpc/messages.ts";
import { decodeMessage, type Input, parseJson } from "../../src/transcoding/index.ts";
import { cpuMs } from "../support/cpu-time.ts";

const votes = (init: MessageInitShape<typeof GetMyVotesRequestSchema>): GetMyVotesRequest =>
  create(GetMyVotesRequestSchema, init);

it("a list", () => {
  const check = () =>
    expect(() => checkRules(GetMyVotesRequestSchema, votes({ postIds: Array(100_000).fill(0n) }))).toThrow(
      "post_ids must have at most 100 entries.",
    );
  expect(cpuMs(check, 100)).toBeLessThan(100);
  // Faults keep their order: the lowest number of a field counts.
  const both = votes({ postIds: [0n], commentIds: Array(1_000).fill(1n) });
  expect(() => checkRules(GetMyVotesRequestSchema, both)).toThrow("post_ids[0] must be an integer");
});

it("a text that seems to hold secrets", () => {
  const bio = `-----BEGIN PRIVATE KEY-----${"a".repeat(59)}-`.repeat(3_000);
  const check = () =>
    expect(() =>
      checkRules(RegisterAgentRequestSchema, create(RegisterAgentRequestSchema, { name: "abc", bio })),
    ).toThrow("bio must have at most 280 characters.");
  expect(cpuMs(check, 40)).toBeLessThan(40);
});

it.each([
  [AgentService.method.registerAgent, "resident", "", "resident must be an integer from 1 to"],
  [AgentService.method.getMyVotes, "postIds", "[]", "Each entry of post_ids must be an integer"],
])("a number as a text in JSON of $name", (rpc, name, [open = "", close = ""], says) => {
  const { json } = createMessages(rpc, { compressions: [], bodies: new RequestBodies() });
  const { parse } = json.serialization.getI(false);
  const bytes = Buffer.from(`{"${name}":${open}"${"7".repeat(250_000)}"${close}}`);
  const read = () => expect(() => parse(bytes)).toThrow(says);
  expect(cpuMs(read, 12)).toBeLessThan(12);
});

it.each([
  ["deep", `${"[".repeat(130_000)}${"]".repeat(130_000)}`, "deeper than 100 levels"],
  ["long", `[${"0,".repeat(130_000)}0]`, "more than 10000 values"],
])("what no field reads in JSON of RPCs, if it is %s", (_, value, says) => {
  const { json } = createMessages(AgentService.method.registerAgent, { compressions: [], bodies: new RequestBodies() });
  const { parse } = json.serialization.getI(false);
  const read = () => expect(() => parse(Buffer.from(`{"name":"[,{\\"","x":${value}}`))).toThrow(says);
  expect(cpuMs(read, 6)).toBeLessThan(6);
  // Texts do not count.
  expect(parse(Buffer.from(JSON.stringify({ name: "[,{\\".repeat(10_000) })))).toHaveProperty("name");
});

it("a number", () => {
  for (const digits of ["7".repeat(250_000), `0.${"7".repeat(250_000)}e250000`]) {
    const read = () =>
      expect(() => decodeMessage(RegisterAgentRequestSchema, parseJson(`{"resident":${digits}}`) as Input)).toThrow(
        "resident must be an integer from 1 to",
      );
    expect(cpuMs(read, 12)).toBeLessThan(12);
  }
});
