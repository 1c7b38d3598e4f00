import { create } from "@bufbuild/protobuf";
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
