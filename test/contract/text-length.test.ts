import { create } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import {
  CreatePostResponseSchema,
  GetPostResponseSchema,
  ListPostsResponseSchema,
} from "../../gen/stoa/v1/post_service_pb.js";
import { createTextLength } from "../../src/contract/text-length.ts";

it("the text in a message's lists is measured, including the lists of nested messages", () => {
  const posts = [{ title: "one", body: "12345" }, { title: "three" }];
  expect(createTextLength(ListPostsResponseSchema)?.(create(ListPostsResponseSchema, { feed: { posts } }))).toBe(13);
  expect(createTextLength(ListPostsResponseSchema)?.(create(ListPostsResponseSchema))).toBe(0);
  const whole = create(GetPostResponseSchema, {
    post: { body: "not in a list" },
    comments: [{ body: "ab" }, { body: "c" }],
  });
  expect(createTextLength(GetPostResponseSchema)?.(whole)).toBe(3);
});

it("a message without lists is not measured, and neither is a recursive message", () => {
  expect(createTextLength(CreatePostResponseSchema)).toBeUndefined();
  expect(createTextLength(StructSchema)).toBeUndefined();
});
