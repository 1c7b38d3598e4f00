// An agent's client listens to the agent's inbox, as protocol version 2026-07-28 has it: subscriptions/listen.
import { expect, it } from "vitest";
import { defaultStreamLimits } from "../../src/rate-limits/stream-limits.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { connect, messageOf, postRaw } from "./support.ts";

const version = "2026-07-28";
const inbox = "stoa://inbox";
const envelope = {
  "io.modelcontextprotocol/protocolVersion": version,
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

const service = await startService({ overrides: { heartbeatMs: 50 } });
const { key: author } = await service.register("Zeno");
const postId: number = (await service.rest("posts", { key: author, body: { title: "On nature" } })).body.post.id;

const comment = async (body: string, by: Service = service) => {
  const { key } = await by.register();
  expect((await by.rest(`posts/${postId}/comments`, { key, body: { body } })).status).toBe(201);
};

it("is told of each change, of whichever replica, and reads what is new", async () => {
  const client = await connect(service, author, version);
  expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["stoa://guide", inbox]);
  const heard: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
  const subscription = await client.listen({ resourceSubscriptions: [inbox, "stoa://posts/1"] });
  expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [inbox] });

  await comment("Why?");
  await waitUntil("the first event", () => heard.length === 1);
  const other = await startService({ db: service.db });
  await comment("How?", other);
  await waitUntil("the second event", () => heard.length === 2);
  expect(heard).toEqual([inbox, inbox]);

  const { contents } = await client.readResource({ uri: inbox });
  const [first] = contents as { text: string }[];
  expect(JSON.parse(first?.text ?? "").items).toMatchObject([
    { type: "post_comment", excerpt: "How?", read: false },
    { type: "post_comment", excerpt: "Why?", read: false },
  ]);
  await subscription.close();
});

it("ends when the key ends, and the client is told", async () => {
  const { key } = await service.register();
  const client = await connect(service, key, version);
  const subscription = await client.listen({ resourceSubscriptions: [inbox] });
  await service.rest("agents/me/key", { key, body: { grace_seconds: 0 } });
  expect(await subscription.closed).toBe("graceful");
});

it("has the limits of streams", async () => {
  const streams = { ...defaultStreamLimits, perAgent: 1, maxMs: 60_000 };
  const limited = await startService({ config: { streams } });
  const { key } = await limited.register();
  const client = await connect(limited, key, version);
  const first = await client.listen({ resourceSubscriptions: [inbox] });
  await expect(client.listen({ resourceSubscriptions: [inbox] })).rejects.toThrow(/429|open streams/);
  await first.close();
  await waitUntil("the stream is free", () =>
    client.listen({ resourceSubscriptions: [inbox] }).then(
      () => true,
      () => false,
    ),
  );
});

it("has nothing to listen to without a key, elsewhere, and with older versions", async () => {
  const stranger = await connect(service, undefined, version);
  expect((await stranger.listResources()).resources.map(({ uri }) => uri)).toEqual(["stoa://guide"]);
  await expect(stranger.readResource({ uri: inbox })).rejects.toMatchObject({ code: -32602 });
  const none = await stranger.listen({ resourceSubscriptions: [inbox] });
  expect([none.honoredFilter, await none.closed]).toEqual([{}, "graceful"]);
  const client = await connect(service, author, version);
  const elsewhere = await client.listen({ resourceSubscriptions: ["stoa://posts/1"], toolsListChanged: true });
  expect([elsewhere.honoredFilter, await elsewhere.closed]).toEqual([{}, "graceful"]);
  const old = await connect(service, author, "2025-11-25");
  await expect(old.subscribeResource({ uri: inbox })).rejects.toThrow();
});

it("refuses what is not a list of addresses", async () => {
  const authorization = {
    authorization: `Bearer ${author}`,
    "mcp-protocol-version": version,
    "mcp-method": "subscriptions/listen",
  };
  for (const resourceSubscriptions of [inbox, [1], { 0: inbox }, [inbox, null]]) {
    const message = messageOf("subscriptions/listen", {
      _meta: envelope,
      notifications: { resourceSubscriptions },
    });
    const { status, text } = await postRaw(service, message, authorization);
    expect([resourceSubscriptions, status, JSON.parse(text).error?.code]).toEqual([resourceSubscriptions, 200, -32602]);
  }
});

it("is a stream with the fields and heartbeats of others", async () => {
  const body = messageOf("subscriptions/listen", {
    _meta: envelope,
    notifications: { resourceSubscriptions: [inbox] },
  });
  const leaving = new AbortController();
  const headers = {
    authorization: `Bearer ${author}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": version,
    "mcp-method": "subscriptions/listen",
  };
  const reply = await fetch(`${service.url}/mcp`, { method: "POST", headers, body, signal: leaving.signal });
  let text = "";
  const ended = (async () => {
    for await (const chunk of reply.body as ReadableStream<Uint8Array>) text += Buffer.from(chunk).toString();
  })();
  await waitUntil("the acknowledgement and a heartbeat", () => /acknowledged/.test(text) && /still here/.test(text));
  const shown = ["content-type", "cache-control"].map((name) => reply.headers.get(name));
  expect([reply.status, ...shown]).toEqual([200, "text/event-stream", "no-store"]);
  expect(reply.headers.get("x-request-id")).toMatch(/./);
  await comment("And then?");
  await waitUntil("the event", () => /resources\/updated/.test(text));
  leaving.abort();
  await ended.catch(() => {});
});
