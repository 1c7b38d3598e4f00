import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Binding } from "../../src/contract/bindings.ts";
import { responseOf } from "../../src/contract/responses.ts";
import { EchoService, fixtureBinding, fixtureMessage } from "../support/fixture.ts";

describe("the response of a binding", () => {
  const ThingResponse = fixtureMessage("ThingResponse");
  const Thing = fixtureMessage("Thing");
  const whole = create(ThingResponse, { thing: create(Thing, { name: "a" }) }) as Message & Record<string, unknown>;

  it("is the response of the RPC", () => {
    const { desc, select } = responseOf(fixtureBinding("GET", "/v1/unwrapped/{name}"));
    expect(desc).toBe(ThingResponse);
    expect(select(whole)).toBe(whole);
  });

  it("is the field that the contract names, or an empty message where that is unset", () => {
    const { desc, select } = responseOf(fixtureBinding("GET", "/v1/wrapped/{name}"));
    expect(desc).toBe(Thing);
    expect(select(whole)).toBe(whole.thing);
    expect(select(create(ThingResponse))).toEqual(create(Thing));
  });

  it.each(["name", "books", "labels"])("cannot be a field that is no single message: %s", (name) => {
    const rpc = EchoService.methods.find((each) => each.output === Thing) as DescMethod;
    const responseBody = Thing.fields.find((field) => field.name === name);
    expect(() => responseOf({ rpc, responseBody } as Binding)).toThrow(
      `fixture.v1.EchoService.${rpc.name}: response_body must name a message field.`,
    );
  });
});
