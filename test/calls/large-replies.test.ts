import { create, type DescMethod } from "@bufbuild/protobuf";
import type { UnaryRequest, UnaryResponse } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import { ListPostsResponseSchema, PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { SearchResponseSchema, SearchService } from "../../gen/stoa/v1/search_service_pb.js";
import { contextValuesOf, type RequestContext } from "../../src/calls/context.ts";
import { boundLargeReads } from "../../src/calls/large-reads.ts";

const table = {
  services: [
    { service: PostService, implementation: {} },
    { service: SearchService, implementation: {} },
  ],
  slow: [SearchService.method.search],
  beginCall: () => 10_000,
};

/** Calls ListPosts through the interceptor. The reply is a feed with this many characters. */
function createFeedCall() {
  const interceptor = boundLargeReads(table);
  let running = 0;
  const seen = { maxRunning: 0 };
  const call = (characters: number) => {
    const next = async (): Promise<UnaryResponse> => {
      running += 1;
      seen.maxRunning = Math.max(seen.maxRunning, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      const feed = { posts: [{ body: "x".repeat(characters) }] };
      return { stream: false, message: create(ListPostsResponseSchema, { feed }) } as UnaryResponse;
    };
    const request = {
      stream: false,
      method: PostService.method.listPosts,
      signal: new AbortController().signal,
      contextValues: contextValuesOf({ agent: 1, client: { counted: "unknown" } } as RequestContext),
    };
    return interceptor(next as never)(request as unknown as UnaryRequest);
  };
  return { call, seen };
}

/** Returns in which iteration of the event loop, counted from now, each promise is fulfilled. */
async function iterationsOf(promises: Promise<unknown>[]): Promise<number[]> {
  let iteration = 0;
  let isOver = false;
  const count = () => {
    iteration += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const iterations = await Promise.all(promises.map((promise) => promise.then(() => iteration)));
  isOver = true;
  return iterations;
}

describe("replies with lists", () => {
  it("leave in different iterations of the event loop if they are large, because each is encoded in one go", async () => {
    const { call } = createFeedCall();
    const iterations = await iterationsOf([1, 2, 3, 4].map(() => call(300_000)));
    expect(new Set(iterations).size).toBe(4);
  });

  it("leave together if they are small", async () => {
    const { call } = createFeedCall();
    const iterations = await iterationsOf([1, 2, 3, 4].map(() => call(1_000)));
    expect(new Set(iterations).size).toBe(1);
  });

  it("are made one at a time after a large one, even if the list is in a nested message", async () => {
    const { call, seen } = createFeedCall();
    await Promise.all(Array.from({ length: 20 }, () => call(1_000)));
    expect(seen.maxRunning).toBe(8);
    await call(300_000);
    seen.maxRunning = 0;
    await Promise.all([call(300_000), call(300_000), call(300_000)]);
    expect(seen.maxRunning).toBe(1);
  });
});

it("no read waits for searches, which may take seconds, and those of different callers take turns", async () => {
  const interceptor = boundLargeReads(table);
  const searches: { agent: number; end(): void }[] = [];
  const ask = (agent: number, method: DescMethod, next: () => Promise<UnaryResponse>) => {
    const contextValues = contextValuesOf({ agent, client: { counted: "unknown" } } as RequestContext);
    const request = { stream: false, method, signal: new AbortController().signal, contextValues };
    return interceptor(next as never)(request as unknown as UnaryRequest);
  };
  const search = (agent: number) =>
    ask(agent, SearchService.method.search, async () => {
      await new Promise<void>((end) => searches.push({ agent, end }));
      return { stream: false, message: create(SearchResponseSchema) } as unknown as UnaryResponse;
    });
  const asked = Array.from({ length: 20 }, () => search(1));
  asked.push(search(2));
  expect(searches).toHaveLength(8);
  await ask(3, PostService.method.listPosts, async () => {
    return { stream: false, message: create(ListPostsResponseSchema) } as unknown as UnaryResponse;
  });
  for (const ended of searches.slice(0, 2)) ended.end();
  await vi.waitFor(() => expect(searches).toHaveLength(10));
  expect(searches.slice(8).map(({ agent }) => agent)).toEqual([1, 2]);
  for (let ended = 2; ended < asked.length; ended++) {
    await vi.waitFor(() => expect(searches.length).toBeGreaterThan(ended));
    searches[ended]?.end();
  }
  await Promise.all(asked);
});
