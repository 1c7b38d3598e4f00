import { describe, expect, it } from "vitest";
import { CommunityService, ListCommunityPostsRequestSchema } from "../../gen/stoa/v1/community_service_pb.js";
import { FeedSort } from "../../gen/stoa/v1/feed_pb.js";
import { ListPostsRequestSchema, PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { bindingsOf } from "../../src/contract/bindings.ts";
import { type QueryParameter, readUrlFields } from "../../src/transcoding/url-fields.ts";
import { fixtureBinding } from "../support/fixture.ts";

const bindingOf = (service: typeof PostService | typeof CommunityService, name: string) => {
  const binding = bindingsOf(service).find(({ rpc }) => rpc.name === name);
  if (binding === undefined) throw new Error(`There is no ${name}.`);
  return binding;
};
const posts = bindingOf(PostService, "ListPosts");
const communityPosts = bindingOf(CommunityService, "ListCommunityPosts");

const readPosts = (...query: QueryParameter[]) => readUrlFields(ListPostsRequestSchema, posts, { path: {}, query });
const readCommunityPosts = (name: string, ...query: QueryParameter[]) =>
  readUrlFields(ListCommunityPostsRequestSchema, communityPosts, { path: { name }, query });

describe("the fields of a URL", () => {
  it("are decoded as the types of the contract", () => {
    const message = readPosts(["sort", "t%6Fp"], ["limit", "7"], ["cursor", "a%2Bb+c"]);
    expect(message).toMatchObject({ sort: FeedSort.TOP, limit: 7n, cursor: "a+b c" });
    expect(message.t).toBeUndefined();
    expect(readCommunityPosts("%67eneral").name).toBe("general");
  });

  it.each<[string, string, QueryParameter[]]>([
    [
      "t",
      "broken percent-encoding",
      [
        ["t", "%e0"],
        ["sort", "%e0"],
      ],
    ],
    ["sort", "an unknown value", [["sort", "odd"]]],
    [
      "sort",
      "a parameter given twice",
      [
        ["sort", "hot"],
        ["sort", "new"],
      ],
    ],
    ["limit", "a wrong type", [["limit", "x"]]],
  ])("name the field at fault: %s, for %s", (field, _fault, query) => {
    expect(() => readPosts(...query)).toThrow(expect.objectContaining({ code: "bad_input", field }));
  });

  it("report faults of the path first", () => {
    expect(() => readCommunityPosts("%zz", ["t", "%e0"])).toThrow(
      expect.objectContaining({ code: "bad_input", field: "name" }),
    );
    expect(() => readCommunityPosts("", ["t", "%e0"])).toThrow(
      expect.objectContaining({ code: "not_found", message: "There is nothing at this address." }),
    );
  });

  it("may be absent from the path", () => {
    const message = readUrlFields(ListCommunityPostsRequestSchema, communityPosts, { path: {}, query: [] });
    expect(message.name).toBe("");
  });

  it("may hold an encoded slash in the path", () => {
    expect(readCommunityPosts("a%2Fb+c").name).toBe("a/b+c");
  });

  it("are refused if a parameter repeats a field of the path", () => {
    expect(() => readCommunityPosts("general", ["name", "general"])).toThrow(
      expect.objectContaining({ code: "bad_input", field: "name", message: "name is given more than once." }),
    );
  });

  it("say whose percent-encoding is broken", () => {
    expect(() => readPosts(["cursor", "%"])).toThrow("The percent-encoding of cursor is broken.");
  });

  it("may be in nested messages, and lists", () => {
    const binding = fixtureBinding("GET", "/v1/books/{book.name}");
    const message = readUrlFields(binding.rpc.input, binding, {
      path: { "book.name": "b%20c" },
      query: [
        ["book.author.age", "7"],
        ["tags", "x"],
        ["tags", "y"],
      ],
    });
    expect(message).toMatchObject({ book: { name: "b c", author: { age: 7n } }, tags: ["x", "y"] });
  });
});
