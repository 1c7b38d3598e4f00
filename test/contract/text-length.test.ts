import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import {
  CreatePostResponseSchema,
  GetPostResponseSchema,
  ListPostsResponseSchema,
} from "../../gen/stoa/v1/post_service_pb.js";
import { createTextLength } from "../../src/contract/text-length.ts";
import { fixtureMessage } from "../support/fixture.ts";

it("measures the text in the lists of a message and of its nested messages", () => {
  const posts = [{ title: "one", body: "12345" }, { title: "three" }];
  expect(createTextLength(ListPostsResponseSchema)?.(create(ListPostsResponseSchema, { feed: { posts } }))).toBe(13);
  expect(createTextLength(ListPostsResponseSchema)?.(create(ListPostsResponseSchema))).toBe(0);
  const whole = create(GetPostResponseSchema, {
    post: { body: "not in a list" },
    comments: [{ body: "ab" }, { body: "c" }],
  });
  expect(createTextLength(GetPostResponseSchema)?.(whole)).toBe(3);
});

it("counts only the strings of the messages in a list, not their nested messages", () => {
  const Things = fixtureMessage("Things");
  const measure = createTextLength(Things);
  const things = [
    { rpc: "ab", note: "c", number: 123_456n, tags: ["long", "longer"], books: [{ name: "a book" }] },
    {},
  ];
  const scalars = [{ aBytes: new Uint8Array(9), aString: "defg" }];
  expect(measure?.(create(Things, { things, scalars } as MessageInitShape<typeof Things>))).toBe(3 + 4);
});

it("measures the lists of a recursive message at its outermost level only", () => {
  const Node = fixtureMessage("Node");
  const tree = { children: [{ name: "ab" }, { name: "c" }], child: { children: [{ name: "deeper" }] } };
  expect(createTextLength(Node)?.(create(Node, tree as MessageInitShape<typeof Node>))).toBe(3);
});

it("does not count a list of strings", () => {
  const Lists = fixtureMessage("Lists");
  const lists = { aString: ["abc"], aNode: [{ name: "de" }] };
  expect(createTextLength(Lists)?.(create(Lists, lists as MessageInitShape<typeof Lists>))).toBe(2);
});

it("does not measure a message without lists, nor a recursive message", () => {
  expect(createTextLength(CreatePostResponseSchema)).toBeUndefined();
  expect(createTextLength(StructSchema)).toBeUndefined();
});
