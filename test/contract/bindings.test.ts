import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { type Binding, bindingsOf, fieldAt, isPublicRead, isTaggedRead } from "../../src/contract/bindings.ts";
import { BrokenService, ContractService, EchoService } from "../support/fixture.ts";

const rpcOf = (service: DescService, name: string) => service.methods.find((rpc) => rpc.name === name) as DescMethod;

/** The bindings of one method. */
const read = (service: DescService, name: string) =>
  bindingsOf({ ...service, methods: [rpcOf(service, name)] } as DescService);

const nameOf = (field: Binding["body"]) => (typeof field === "object" ? field.name : field);

describe("the bindings of a service", () => {
  it("have the method, template, body and status of the contract; additional bindings come after the first", () => {
    expect(
      read(EchoService, "Create").map(({ rpc, httpMethod, template, body, status }) => [
        rpc.name,
        httpMethod,
        template,
        nameOf(body),
        status,
      ]),
    ).toEqual([
      ["Create", "POST", "/v1/things/{name}", "*", 201],
      ["Create", "PUT", "/v1/things/{name}", "book", 201],
      ["Create", "PUT", "/v1/things/{name}/tags", "tags", 201],
      ["Create", "PATCH", "/v1/things/{name}", undefined, 201],
      ["Create", "DELETE", "/v1/things/{name}", undefined, 201],
    ]);
    expect(read(EchoService, "Get").map(({ path, status }) => [path.fields, status])).toEqual([[[["name"]], 200]]);
  });

  it("name the field that is sent as the response", () => {
    expect(read(EchoService, "GetWrapped").map(({ responseBody }) => responseBody?.name)).toEqual(["thing", undefined]);
  });

  it("take the method of a custom pattern", () => {
    expect(read(ContractService, "Probe").map(({ httpMethod, template }) => [httpMethod, template])).toEqual([
      ["OPTIONS", "/v1/probe/{color}"],
    ]);
  });

  it("do not include an RPC without an annotation", () => {
    expect(read(EchoService, "OnlyRpc")).toEqual([]);
  });

  it.each([
    ["UnknownPathField", "/v1/{nothing}: fixture.v1.Thing has no nothing that a path could hold."],
    ["MessageInPath", "/v1/{book}: fixture.v1.Thing has no book that a path could hold."],
    ["ListInPath", "/v1/{tags}: fixture.v1.Thing has no tags that a path could hold."],
    ["MalformedTemplate", "The path template /v1/{name is malformed: "],
    ["NoPath", "fixture.v1.BrokenService.NoPath has an HTTP rule without a path."],
    ["UnknownBody", "fixture.v1.Thing has no field nothing."],
    ["UnknownResponseBody", "fixture.v1.Thing has no field nothing."],
  ])("are refused: %s", (name, message) => {
    expect(() => read(BrokenService, name)).toThrow(message);
  });

  it("are refused if a path names a field that a nested message does not have", () => {
    const message = "/v1/{book.nothing}: fixture.v1.Thing has no book.nothing that a path could hold.";
    expect(() => read(ContractService, "UnknownNestedField")).toThrow(message);
  });
});

describe("fieldAt", () => {
  const rpc = rpcOf(EchoService, "Get");
  it.each([
    ["name", "fixture.v1.Thing.name"],
    ["book.name", "fixture.v1.Book.name"],
    ["book.author.age", "fixture.v1.Book.Author.age"],
    ["nothing", undefined],
    ["book.nothing", undefined],
    ["nothing.name", undefined],
    ["name.name", undefined],
    ["books.name", undefined],
  ])("finds %s: %s", (path, found) => {
    const field = fieldAt(rpc, path.split("."));
    expect(field && `${field.parent.typeName}.${field.name}`).toBe(found);
  });

  it("finds nothing at the empty path", () => {
    expect(fieldAt(rpc, [])).toBeUndefined();
  });
});

describe("a binding", () => {
  const services = [AgentService, LedgerService, PostService];
  const templatesOf = (rule: (binding: Binding) => boolean) =>
    services
      .flatMap((service) => bindingsOf(service).filter(rule))
      .map(({ httpMethod, template }) => `${httpMethod} ${template}`);

  it("is a public read if it is a GET that anybody may call", () => {
    const reads = templatesOf(isPublicRead);
    expect(reads).toContain("GET /api/v1/posts/{id}");
    expect(reads).toContain("GET /api/v1/house/receipts/stream");
    // An agent's own profile, a write that anybody may call, and a write.
    expect(reads).not.toContain("GET /api/v1/agents/me");
    expect(reads.filter((read) => !read.startsWith("GET "))).toEqual([]);
  });

  it("has tagged responses if it is a public read of one response", () => {
    const streams = ["GET /api/v1/house/receipts/stream"];
    expect(templatesOf((each) => isPublicRead(each) && !isTaggedRead(each))).toEqual(streams);
    expect(templatesOf((each) => isTaggedRead(each) && !isPublicRead(each))).toEqual([]);
  });
});
