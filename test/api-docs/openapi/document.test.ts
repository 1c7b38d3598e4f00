import { getOption } from "@bufbuild/protobuf";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { contractServices } from "../../../scripts/lib/contract.ts";
import type { Schema } from "../../../src/api-docs/openapi/schema.ts";
import { errorStatus } from "../../../src/errors.ts";
import { description, faultOfReply, faultOfRequest, type Operation } from "../../support/openapi/schemas.ts";

const operations = Object.entries(description.paths).flatMap(([path, byMethod]) =>
  Object.entries(byMethod).map(([method, operation]) => ({ name: `${method} ${path}`, path, method, operation })),
);
const operation = (name: string) => operations.find((each) => each.name === name)?.operation as Operation;
const schema = (name: string) =>
  description.components.schemas[name] as Schema & { properties: Record<string, Schema> };
const parameter = (name: string, of: string) => operation(of).parameters?.find((each) => each.name === name);

describe("the description", () => {
  it("is valid by the meta schema of OpenAPI 3.1", async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(description) as never);
    expect(result.errors ?? []).toEqual([]);
    expect([result.valid, validator.version]).toEqual([true, "3.1"]);
  });

  it("has every REST binding of the contract, and nothing else", async () => {
    const bindings = (await contractServices())
      .flatMap(({ methods }) => methods)
      .map((rpc) => getOption(rpc, http))
      .flatMap((rule) => [rule, ...rule.additionalBindings])
      .filter(({ pattern }) => pattern.case !== undefined)
      .map(({ pattern }) => `${pattern.case} ${String(pattern.value).replace(/\{(\w+)=[^}]*\}/, "{$1}")}`);
    expect(bindings.length).toBeGreaterThan(15);
    expect(operations.map(({ name }) => name).sort()).toEqual(bindings.sort());
    expect(operations.map(({ name }) => name)).toContain("get /house/verify");
    expect(JSON.stringify(description)).not.toContain("SealSession");
  });

  it("says which calls need an API key", () => {
    for (const { name, operation } of operations) {
      const needed = operation.responses[401] === undefined ? [] : [{ apiKey: [] }];
      // What the caller follows is for the caller; the rest of the feed is for anybody.
      const isOptional = ["get /api/v1/posts", "get /api/v1/feed"].includes(name);
      expect(operation.security, name).toEqual(isOptional ? [{}, ...needed] : needed);
    }
  });

  it("describes every field whose name does not say it all", () => {
    const selfEvident =
      /^(id|name|title|author|created_at|upvotes|downvotes|seq|posts|comments|agent|post|comment|community|communities|feed|receipt|receipts|verify|ok)$/;
    const bare = Object.entries(description.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties as Record<string, Schema>)
        .filter(([field, { description: text }]) => text === undefined && !selfEvident.test(field))
        .map(([field]) => `${name}.${field}`),
    );
    expect(bare).toEqual([]);
  });

  // Bounds and shapes are compared with the service: those of requests in requests.test.ts, those of replies in every test.
  it("has defaults, the codes of errors, streams and bytes", () => {
    const feed = "get /api/v1/communities/{name}/posts";
    const defaults = ["limit", "offset", "sort", "t"].map((name) => parameter(name, feed)?.schema.default);
    expect(defaults).toEqual([25, 0, "hot", "all"]);
    expect(schema("CreatePostRequest").properties.community?.default).toBe("general");
    const statuses = (name: string) => Object.keys(operation(name).responses).map(Number);
    expect(statuses("post /api/v1/posts")).toEqual(expect.arrayContaining([201, 400, 401, 404, 413, 500, 503]));
    expect(statuses("get /api/v1/communities")).not.toContain(404);
    expect(statuses("get /api/v1/house/receipts/{seq}")).toContain(304);
    const stream = operation("get /api/v1/house/receipts/stream").responses[200];
    expect(Object.keys(stream?.content ?? {})).toEqual(["application/x-ndjson", "text/event-stream"]);
    expect(parameter("Last-Event-ID", "get /api/v1/house/receipts/stream")?.in).toBe("header");
    const canonical = operation("get /api/v1/house/receipts/{seq}/canonical").responses[200];
    expect(canonical?.content).toEqual({ "application/json": { schema: { type: "object" } } });
  });
});

describe("examples", () => {
  const named = Object.entries(description.components.schemas);

  it("examples of messages fit their schemas", () => {
    const examples = named.flatMap(([name, schema]) =>
      ((schema.examples ?? []) as unknown[]).map((value) => ({ name, value })),
    );
    expect(examples.length).toBeGreaterThan(20);
    for (const { name, value } of examples) {
      expect(faultOfReply({ $ref: `#/components/schemas/${name}` }, value), name).toBeUndefined();
    }
  });

  it("examples of parameters fit their schemas, and every path can be tried with them", () => {
    for (const { name, operation } of operations) {
      for (const { name: parameter, in: place, schema, example } of operation.parameters ?? []) {
        if (example !== undefined) expect(faultOfRequest(schema, example), `${name} ${parameter}`).toBeUndefined();
        else expect(place, `${name} ${parameter}`).not.toBe("path");
      }
    }
  });

  it("examples of errors have the codes of their response", () => {
    const codes = new Set<string>();
    for (const response of Object.values(description.components.responses)) {
      const content = response.content?.["application/json"];
      const { schema, examples } = content as { schema: Schema; examples: Record<string, { value: object }> };
      for (const [code, { value }] of Object.entries(examples)) {
        codes.add(code);
        expect(faultOfReply(schema, value), code).toBeUndefined();
        expect(faultOfReply(schema, { ...value, error: "no_such_code" })).toContain("allowed values");
      }
    }
    expect([...codes].filter((code) => !Object.hasOwn(errorStatus, code))).toEqual([]);
  });
});
