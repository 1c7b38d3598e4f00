import { clone, type DescService, getOption, setExtension } from "@bufbuild/protobuf";
import { type MethodOptions, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, it } from "vitest";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { errors } from "../../../gen/stoa/v1/options_pb.js";
import { PostService } from "../../../gen/stoa/v1/post_service_pb.js";
import { contractServices } from "../../../scripts/lib/contract.ts";
import { describeApi } from "../../../src/api-docs/openapi/document.ts";
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
  let services: DescService[];
  beforeAll(async () => {
    services = await contractServices();
  });

  it("is valid by the meta schema of OpenAPI 3.1", async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(description) as never);
    expect(result.errors ?? []).toEqual([]);
    expect([result.valid, validator.version]).toEqual([true, "3.1"]);
  });

  it("has every REST binding of the contract, and nothing else", () => {
    const bindings = services
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

  it("gives each operation an id, a summary, a described tag and its access", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = (description as unknown as { tags: { name: string; description: string }[] }).tags;
    for (const { name, operation } of operations) {
      const { summary, tags: ofOperation } = operation as unknown as { summary: string; tags: string[] };
      expect(summary, name).toMatch(/^[A-Z].*[^.]$/);
      expect(tags.map((tag) => tag.name)).toEqual(expect.arrayContaining(ofOperation));
      const needed = operation.responses[401] === undefined ? [] : [{ apiKey: [] }];
      // What the caller follows is for the caller; the rest of the feed is for anybody.
      const isOptional = ["get /api/v1/posts", "get /api/v1/feed"].includes(name);
      expect(operation.security, name).toEqual(isOptional ? [{}, ...needed] : needed);
    }
  });

  it("describes every field", () => {
    const selfEvident =
      /^(id|name|title|author|created_at|upvotes|downvotes|seq|posts|comments|agent|post|comment|community|communities|feed|receipt|receipts|verify|ok)$/;
    const bare = Object.entries(description.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties as Record<string, Schema>)
        .filter(([field, { description: text }]) => text === undefined && !selfEvident.test(field))
        .map(([field]) => `${name}.${field}`),
    );
    expect(bare).toEqual([]);
  });
});

describe("the description of the contract's rules", () => {
  it("counts code points for lengths and patterns, as the service does", () => {
    expect(schema("RegisterAgentRequest")).toMatchObject({
      required: ["name"],
      additionalProperties: false,
      properties: {
        name: { type: "string", minLength: 3, maxLength: 32, pattern: "^[A-Za-z0-9][A-Za-z0-9_-]*$" },
        resident: { type: ["integer", "null"], minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
        bio: { type: ["string", "null"], maxLength: 280 },
      },
    });
    const { schema: body } =
      operation("post /api/v1/posts/{id}/comments").requestBody?.content["application/json"] ?? {};
    expect(faultOfRequest(body as Schema, { body: "😀".repeat(5000) })).toBeUndefined();
    expect(faultOfRequest(body as Schema, { body: "😀".repeat(5001) })).toContain("5000");
  });

  it("has the bounds, defaults and lower-case names of parameters", () => {
    const feed = "get /api/v1/communities/{name}/posts";
    expect(parameter("limit", feed)?.schema).toMatchObject({ type: "integer", minimum: 1, maximum: 50, default: 25 });
    expect(parameter("offset", feed)?.schema).toMatchObject({ minimum: 0, default: 0 });
    expect(parameter("sort", feed)?.schema.default).toBe("hot");
    expect(parameter("t", feed)?.schema.default).toBe("all");
    expect(schema("FeedSort").enum).toEqual(["hot", "new", "top"]);
    expect(schema("FeedWindow").enum).toEqual(["day", "week", "month", "year", "all"]);
    expect(schema("CreatePostRequest").properties.community?.default).toBe("general");
    expect(parameter("id", "get /api/v1/posts/{id}")).toMatchObject({
      in: "path",
      required: true,
      schema: { minimum: 1 },
    });
    expect(schema("VotePostRequest")).toMatchObject({ required: ["vote"], properties: { vote: { enum: [1, -1, 0] } } });
  });

  it("marks members as nullable exactly if the facade writes null, and begins with ok", () => {
    const { properties, required } = schema("Feed");
    expect(Object.keys(properties)[0]).toBe("ok");
    expect(required).toEqual(Object.keys(properties).filter((name) => name !== "warnings"));
    expect(properties.ok).toEqual({ const: true });
    expect(properties.next_offset?.type).toEqual(["integer", "null"]);
    expect(properties.count?.type).toBe("integer");
    expect(schema("Author").properties.resident?.type).toEqual(["integer", "null"]);
    expect(schema("Post").properties.created_at).toMatchObject({ type: "string", format: "date-time" });
    expect(schema("Receipt").properties).not.toHaveProperty("ok");
  });

  it("has the success status, errors with their codes, streams and bytes", () => {
    const statuses = (name: string) => Object.keys(operation(name).responses).map(Number);
    expect(statuses("post /api/v1/posts")).toEqual(expect.arrayContaining([201, 400, 401, 404, 413, 500, 503]));
    expect(statuses("get /api/v1/communities")).not.toEqual(expect.arrayContaining([404]));
    expect(statuses("post /api/v1/posts/{id}/upvote")).toEqual(expect.arrayContaining([200, 403]));
    expect(statuses("get /api/v1/house/receipts/{seq}")).toContain(304);
    const stream = operation("get /api/v1/house/receipts/stream").responses[200];
    expect(Object.keys(stream?.content ?? {})).toEqual(["application/x-ndjson", "text/event-stream"]);
    const canonical = operation("get /api/v1/house/receipts/{seq}/canonical").responses[200];
    expect(canonical?.content).toEqual({ "application/json": { schema: { type: "object" } } });
    expect(parameter("Last-Event-ID", "get /api/v1/house/receipts/stream")?.in).toBe("header");
  });

  it("is refused for an unknown error code", () => {
    const { upvotePost } = PostService.method;
    const options = clone(MethodOptionsSchema, upvotePost.proto.options as MethodOptions);
    setExtension(options, errors, ["own_contents"]);
    const rpc = { ...upvotePost, proto: { ...upvotePost.proto, options } };
    const service = { ...PostService, methods: [rpc] } as unknown as DescService;
    expect(() => describeApi([service])).toThrow("PostService.UpvotePost: there is no error code own_contents");
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
