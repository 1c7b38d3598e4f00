import { Validator } from "@seriousme/openapi-schema-validator";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Components } from "../../../src/api-docs/openapi/components.ts";
import { describeApi } from "../../../src/api-docs/openapi/document.ts";
import { decodeMessage } from "../../../src/transcoding/decode.ts";
import { encodeMessage } from "../../../src/transcoding/encode.ts";
import type { Input } from "../../../src/transcoding/input.ts";
import { parseJson } from "../../../src/transcoding/json.ts";
import { EchoService, fixtureMessage } from "../../support/fixture.ts";
import { anyMessage } from "../../support/fixture-messages.ts";
import { SchemaChecks } from "../../support/openapi/schemas.ts";

describe("the schema of every kind of field", () => {
  it.each(["Scalars", "Optionals"])("accepts what the facade writes: %s", (name) => {
    const desc = fixtureMessage(name);
    const components = new Components();
    const schema = components.part(desc);
    const checks = new SchemaChecks(components.schemas);
    fc.assert(
      fc.property(anyMessage(desc), (message) => {
        const written = JSON.parse(JSON.stringify(encodeMessage(desc, message)));
        expect(checks.faultOfReply(schema, written)).toBeUndefined();
      }),
      { seed: 1 },
    );
  });

  it.each(["Scalars", "Optionals", "Lists", "Maps"])("accepts exactly what the facade reads: %s", (name) => {
    const desc = fixtureMessage(name);
    const components = new Components();
    const schema = components.body(desc, new Set());
    const checks = new SchemaChecks(components.schemas);
    const beside = fc.constantFrom<unknown>(
      null,
      true,
      1,
      -1,
      1.5,
      2 ** 32,
      -(2 ** 31) - 1,
      2 ** 53,
      "x",
      "AA==",
      "NaN",
      [],
      {},
    );
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(anyMessage(desc), fc.constantFrom(...desc.fields), beside, (message, field, value) => {
        const json = { ...JSON.parse(JSON.stringify(encodeMessage(desc, message))), [field.name]: value };
        const fault = checks.faultOfRequest(schema, json);
        seen[fault === undefined ? "taken" : "refused"]++;
        expect([isRead(desc, json), fault]).toEqual([fault === undefined, fault]);
      }),
      { numRuns: 150, seed: 1 },
    );
    expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(10);
  });
});

function isRead(desc: Parameters<typeof decodeMessage>[0], json: object): boolean {
  try {
    decodeMessage(desc, parseJson(JSON.stringify(json)) as Input);
    return true;
  } catch {
    return false;
  }
}

it("a contract with every kind of binding has a valid OpenAPI 3.1 description", async () => {
  const result = await new Validator().validate(describeApi([EchoService]) as never);
  expect([result.valid, result.errors ?? []]).toEqual([true, []]);
});
