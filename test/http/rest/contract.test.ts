// A contract with a fault, or without an implementation, keeps a service from starting.
import type { DescService } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { createBareServer } from "../../support/bare-server.ts";
import { BrokenService } from "../../support/fixture.ts";

/** Makes a server of some RPCs of the broken service, which does not listen. */
async function serve(...names: string[]): Promise<void> {
  const methods = BrokenService.methods.filter(({ name }) => names.includes(name));
  expect(methods.length).toBe(names.length);
  const service = { ...BrokenService, methods } as DescService;
  const implementation = Object.fromEntries(
    methods.filter(({ name }) => name !== "NotImplemented").map(({ localName }) => [localName, () => ({})]),
  );
  const { server } = await createBareServer({ services: [{ service, implementation }] });
  await server.close();
}

it.each([
  [["UnknownPathField"], "/v1/{nothing}: fixture.v1.Thing has no nothing that a path could hold."],
  [["MessageInPath"], "/v1/{book}: fixture.v1.Thing has no book that a path could hold."],
  [["ListInPath"], "/v1/{tags}: fixture.v1.Thing has no tags that a path could hold."],
  [["MalformedTemplate"], "The path template /v1/{name is malformed"],
  [["NoPath"], "fixture.v1.BrokenService.NoPath has an HTTP rule without a path."],
  [["UnknownBody"], "fixture.v1.Thing has no field nothing."],
  [["UnknownResponseBody"], "fixture.v1.Thing has no field nothing."],
  [["ScalarResponseBody"], "fixture.v1.BrokenService.ScalarResponseBody: response_body must name a message field."],
  [["ListResponseBody"], "fixture.v1.BrokenService.ListResponseBody: response_body must name a message field."],
  [["NoAccess"], "fixture.v1.BrokenService.NoAccess does not say who may call it."],
  [["NotImplemented"], "fixture.v1.BrokenService.NotImplemented has no implementation."],
  [["One", "Other"], "Other and One would answer the same paths: /v1/x/:p2"],
])("a service does not start with %j", async (names, message) => {
  await expect(serve(...names)).rejects.toThrow(message);
});

it("a service starts with either of the two bindings that conflict", async () => {
  await serve("One");
});
