// The inbox through the typed client.
import { expect, it } from "vitest";
import { createOperatorClient, createStoaClient } from "../../src/client/index.ts";
import { operatorToken } from "../ledger/support.ts";
import { startService } from "../support/service.ts";
import { collect } from "./fake-stoa.ts";
import { startProxy } from "./tcp-proxy.ts";

const service = await startService({ config: { operatorToken } });
const other = createStoaClient(service.url, { apiKey: (await service.register()).key });

async function join(url = service.url) {
  const { name, key } = await service.register();
  const stoa = createStoaClient(url, { apiKey: key });
  const id = (await stoa.posts.createPost({ title: "A post" })).post?.id as number;
  return { name, stoa, id };
}

it("lists the whole inbox, and marks it as read", async () => {
  const { stoa, id } = await join();
  for (const body of ["one", "two", "three"]) await other.comments.createComment({ id, body });
  const items = await collect(stoa.everyInboxItem());
  expect(items.map((item) => item.id)).toEqual([3, 2, 1]);
  expect(items[0]).toMatchObject({ type: "post_comment", excerpt: "three", read: false });
  expect((await stoa.inbox.markInboxRead({ upTo: 2 })).inboxUnread).toBe(1);
  expect((await collect(stoa.everyInboxItem({ unread: true }))).map((item) => item.id)).toEqual([3]);
});

it("follows the inbox over lost connections, each item once, until the key is revoked", async () => {
  const proxy = await startProxy(service.url);
  const { name, stoa, id } = await join(proxy.url);
  const say = async () => void (await other.comments.createComment({ id, body: "Hello" }));
  await say();
  const items = stoa.followInbox({ from: 1 });
  const next = async () => (await items.next()).value?.id;
  expect(await next()).toBe(1);
  await say();
  expect(await next()).toBe(2);
  proxy.lose = 1;
  await say();
  expect(await next()).toBe(3);
  const operator = createOperatorClient(service.url, { operatorToken });
  await operator.moderation.revokeKeys({ name, reason: "spam" });
  await say();
  await expect(items.next()).rejects.toMatchObject({ code: "unauthorized" });
});

it("follows new items only, unless told where to begin", async () => {
  const { stoa, id } = await join();
  await other.comments.createComment({ id, body: "Before" });
  const controller = new AbortController();
  const items = stoa.followInbox({ signal: controller.signal, silenceMs: 300 });
  let first: number | undefined;
  const reading = items.next().then(({ value }) => {
    first = value?.id;
  });
  while (first === undefined) await other.comments.createComment({ id, body: "After" });
  await reading;
  expect(first).toBeGreaterThan(1);
  controller.abort(new Error("enough"));
  await expect(items.next()).rejects.toThrow("enough");
});
