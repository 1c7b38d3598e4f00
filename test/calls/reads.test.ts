import { create, type Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { contextValuesOf, type RequestContext } from "../../src/calls/context.ts";
import { boundReads } from "../../src/calls/reads.ts";
import type { ServiceTable } from "../../src/calls/service-table.ts";

const { getPost } = PostService.method;

it("a request shares a read if it gets a response that was made for another one", async () => {
  const gate = Promise.withResolvers<void>();
  const work = async () => {
    await gate.promise;
    return {};
  };
  const implementation = Object.fromEntries(PostService.methods.map(({ localName }) => [localName, work]));
  const services = [{ service: PostService, implementation }];
  const [bounded] = boundReads({
    services,
    sharing: [],
    slow: [],
    beginCall: () => 1_000,
  } as unknown as ServiceTable).services;
  const read = bounded?.implementation.getPost as (message: object, context: HandlerContext) => Promise<unknown>;
  const begin = () => {
    const leaving = new AbortController();
    const request = { isShared: false, client: { counted: "here" } } as RequestContext;
    const context = { values: contextValuesOf(request), signal: leaving.signal, requestHeader: new Headers() };
    const reply = read(create(getPost.input, { id: 7n }), context as unknown as HandlerContext);
    return { request, leaving, reply };
  };

  const [alone, maker, leaver, sharer] = [begin(), begin(), begin(), begin()];
  leaver.leaving.abort(new Error("it left"));
  await expect(leaver.reply).rejects.toThrow("it left");
  gate.resolve();
  await Promise.all([alone.reply, maker.reply, sharer.reply]);
  expect([alone, maker, leaver, sharer].map(({ request }) => request.isShared)).toEqual([false, false, false, true]);
});

/** A read of posts, whose callers share it. @returns a function that makes a number of calls at once */
function sharedPosts() {
  const answers: object[] = [];
  const getPostOnce = async () => {
    await new Promise(setImmediate);
    return answers.shift() ?? {};
  };
  const implementation = Object.fromEntries(PostService.methods.map(({ localName }) => [localName, getPostOnce]));
  const table = { services: [{ service: PostService, implementation }], sharing: [], slow: [], beginCall: () => 1_000 };
  const [bounded] = boundReads(table as unknown as ServiceTable).services;
  const read = bounded?.implementation.getPost as (message: object, context: HandlerContext) => Promise<Message>;
  return async (calls: number, ...found: object[]) => {
    answers.push(...found);
    return Promise.all(
      Array.from({ length: calls }, async () => {
        const request = { client: { counted: "here" } } as RequestContext;
        const signal = new AbortController().signal;
        const context = { values: contextValuesOf(request), signal, requestHeader: new Headers() };
        const message = await read(create(getPost.input, { id: 7n }), context as unknown as HandlerContext);
        return { message, forms: request.sharedForms };
      }),
    );
  };
}

it("a response that has not changed has what was made of the one before, and a changed one has not", async () => {
  const read = sharedPosts();
  const post = (score: bigint) => ({ post: { id: 7n, title: "A post", score } });
  const [first, second] = (await read(3, post(1n), post(1n))).slice(1);
  expect(second?.forms).toBe(first?.forms);
  expect(first?.forms).toBeDefined();

  const [alone] = await read(1, post(1n));
  expect(alone).toEqual(first);
  expect(alone?.forms).toBe(first?.forms);
  expect(alone?.message).toBe(first?.message);

  const [changed] = await read(1, post(2n));
  expect(changed?.message).toMatchObject(post(2n));
  expect(changed?.forms).not.toBe(first?.forms);
  const [again] = await read(1, post(2n));
  expect(again?.forms).toBe(changed?.forms);
  const [back] = await read(1, post(1n));
  expect(back?.message).toMatchObject(post(1n));
  expect(back?.forms).not.toBe(first?.forms);
});

it("a response with much text is not remembered", async () => {
  const read = sharedPosts();
  const found = () => ({ post: { id: 7n }, comments: [{ body: "long ".repeat(10_000) }] });
  const [, first] = await read(3, found(), found());
  const [later] = await read(1, found());
  expect(first?.forms).toBeDefined();
  expect(later?.forms).toBeUndefined();
});
