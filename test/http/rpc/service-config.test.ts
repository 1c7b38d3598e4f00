// The service config that the package brings, as grpc-js reads it: calls are repeated when replies are lost.
import { readFileSync } from "node:fs";
import { Metadata } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { PostService } from "../../../gen/stoa/v1/post_service_pb.js";
import { startProxy } from "../../client/tcp-proxy.ts";
import { createGrpcCaller } from "../../services/grpc-js.ts";
import { startService } from "../../support/service.ts";

const service = await startService();
const file = new URL("../../../proto/stoa/v1/grpc_service_config.json", import.meta.url);
const options = { "grpc.service_config": readFileSync(file, "utf8") };
const { createPost, listPosts } = PostService.method;

/** A client with the service config whose connection is open. The proxy loses what comes next. */
async function lose(replies: number) {
  const proxy = await startProxy(service.url);
  const posts = createGrpcCaller(proxy.url, PostService, options);
  await posts.call(listPosts, {});
  proxy.lose = replies;
  return { proxy, posts };
}

it("a read whose reply is lost is repeated", async () => {
  const { proxy, posts } = await lose(1);
  expect((await posts.call(listPosts, {})).feed?.count).toBe(0n);
  expect(proxy.lose).toBe(0);
});

it("a create whose reply is lost is repeated with its idempotency key, and takes effect once", async () => {
  const { key } = await service.register();
  const { proxy, posts } = await lose(1);
  const metadata = new Metadata();
  metadata.set("idempotency-key", crypto.randomUUID());
  const replayed: unknown[] = [];
  const onMetadata = (head: Metadata) => void replayed.push(...head.get("idempotency-replayed"));
  const { post } = await posts.call(createPost, { title: "Once, please" }, key, { metadata, onMetadata });
  expect([proxy.lose, replayed]).toEqual([0, ["true"]]);
  const { feed } = await posts.call(listPosts, {});
  expect(feed?.posts.map(({ id }) => id)).toEqual([post?.id]);
});
