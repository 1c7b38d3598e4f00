// Two replicas share one database; inboxes are followed on both.
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { InboxService } from "../../../gen/stoa/v1/inbox_service_pb.js";
import { type Form, forms, type Query, receiveParts, StreamFailure } from "../../ledger/reading/followers.ts";
import { startCuttingProxy } from "../../support/cutting-proxy.ts";
import { type Agent, type Moderated, spam, startModerated } from "../../support/moderation.ts";
import { recount } from "../../support/recount.ts";
import { waitUntil } from "../../support/wait.ts";

let turn = 0;

const first = await startModerated();
const replicas: [Moderated, Moderated] = [first, await startModerated({ db: first.db })];
const writer = await first.register("Writer");

/** An item as it was received, by any protocol. */
interface Received {
  id: number;
  commentId: number;
}

/** Receives the items of an inbox one by one. @throws StreamFailure */
async function* receive(
  service: Moderated,
  form: Form,
  { key }: Agent,
  query: Query,
  signal = new AbortController().signal,
  lastEventId?: number,
): AsyncGenerator<Received, void> {
  const headers = { authorization: `Bearer ${key}` };
  if (form === "ndjson" || form === "sse") {
    const more = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
    const parts = receiveParts(service, form, query, signal, { ...headers, ...more }, "agents/me/inbox/stream");
    for await (const { event, id, data } of parts) {
      const item = JSON.parse(data);
      if (event === "error" || item.ok === false) throw new StreamFailure(item.error);
      if (form === "sse") expect(id).toBe(String(item.id));
      yield { id: item.id, commentId: item.comment_id };
    }
    return;
  }
  const request = { follow: query.follow ?? false, ...(query.from === undefined ? {} : { from: BigInt(query.from) }) };
  try {
    const stream = service.connect(InboxService, form).watchInbox(request, { headers, signal });
    for await (const { item } of stream) yield { id: Number(item?.id), commentId: Number(item?.commentId) };
  } catch (error) {
    throw error instanceof ConnectError ? new StreamFailure(Code[error.code]) : error;
  }
}

/** Takes the next items of a stream. */
async function take(stream: AsyncGenerator<Received, void>, count: number): Promise<Received[]> {
  const items: Received[] = [];
  while (items.length < count) {
    const next = await stream.next();
    if (next.done === true) throw new Error("the stream ended");
    items.push(next.value);
  }
  return items;
}

/** An agent with a post, on which others can comment. */
async function newAuthor(): Promise<{ author: Agent; post: number; say: (replica?: 0 | 1) => Promise<number> }> {
  turn += 1;
  const author = await replicas[0].register(`Author${turn}`);
  const post = await replicas[0].post(author);
  return { author, post, say: (replica = 0) => replicas[replica].comment(writer, post) };
}

/** The code of a failure, which the forms name in two ways. */
const codeOver = (form: Form, code: keyof typeof rpcCodes) =>
  form === "ndjson" || form === "sse" ? code : rpcCodes[code];
const rpcCodes = { not_found: "NotFound", unauthorized: "Unauthenticated", forbidden: "PermissionDenied" } as const;

// First, as these three wait the longest.
it.concurrent("other items do not wait for news", async () => {
  const { author, say } = await newAuthor();
  const { db } = replicas[0];
  const proxy = await startCuttingProxy(db.config);
  const third = await startModerated({ db: { ...db, config: proxy.config }, config: { databaseTimeoutMs: 60_000 } });
  proxy.cutAtText("SUM\\(d.newest\\)", "before", "freeze");
  const stream = receive(third, "ndjson", author, { from: 1, follow: true });
  const taken = take(stream, 1);
  await waitUntil("the look for news", () => proxy.isCut());
  const commentId = await say();
  expect(await taken).toEqual([{ id: 1, commentId }]);
  await stream.return();
  // It waits for its frozen connection. At the end of the file, nothing else would happen meanwhile.
  await third.app.close();
});

it.concurrent.each([
  ["because the disk is full", 1114, false],
  ["for an unknown reason", 1644, true],
])("news that cannot be written %s come soon after, and other streams go on", async (_, errno, logged) => {
  const [, { db, log, ...second }] = replicas;
  const { author } = await newAuthor();
  const path = `subscriptions/agents/${author.name}`;
  const streamOf = async (reader: Agent) => {
    expect((await second.rest(path, { key: reader.key, method: "PUT" })).status).toBe(200);
    return receive(replicas[1], "ndjson", reader, { from: 1, follow: true });
  };
  const refused = await second.register();
  const [first, other] = [await streamOf(refused), await streamOf(await second.register())];
  await replicas[0].post(author);
  for (const each of [first, other]) await take(each, 1);
  const next = take(first, 2);
  const [row] = await db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [refused.name]);
  const noted = () =>
    log.some(({ msg, agent }) => msg === "news could not be brought into an inbox" && agent === row?.id);
  expect(noted()).toBe(false);
  const trigger = `refusal_${errno}`;
  await db.pool.query(`CREATE TRIGGER ${trigger} BEFORE INSERT ON inbox_items FOR EACH ROW
    IF NEW.agent_id = ${row?.id} THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${errno}; END IF`);
  // Looks are a second apart. With the second post there was one after the first.
  for (const id of [2, 3]) {
    await replicas[0].post(author);
    expect(await take(other, 1)).toMatchObject([{ id }]);
  }
  if (logged) await waitUntil("the line of the log", noted);
  await db.pool.query(`DROP TRIGGER ${trigger}`);
  expect(await next).toMatchObject([{ id: 2 }, { id: 3 }]);
  expect(noted()).toBe(logged);
  for (const each of [first, other]) await each.return();
});

it.concurrent("a stream that does not follow ends with the newest item, and refuses an id beyond", async () => {
  const { author, say } = await newAuthor();
  // More than a portion.
  const count = 20;
  for (let i = 0; i < count; i++) await say();
  for (const form of forms) {
    const ids = async (query: Query) =>
      (await Array.fromAsync(receive(replicas[0], form, author, query))).map(({ id }) => id);
    expect(await ids({ from: 1 }), form).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    expect(await ids({ from: count + 1 })).toEqual([]);
    await expect(ids({ from: count + 2 })).rejects.toMatchObject({ code: codeOver(form, "not_found") });
    expect(await ids({})).toEqual([]);
  }
});

it.concurrent("streams end when their key stops working, before they deliver anything more", async () => {
  const { author, say } = await newAuthor();
  await say();
  const streams = forms.map((form) => receive(replicas[1], form, author, { from: 1, follow: true }));
  for (const stream of streams) await take(stream, 1);
  await replicas[0].operator.revokeKeys({ name: author.name, reason: spam });
  await say();
  for (const [at, form] of forms.entries())
    await expect(streams[at]?.next()).rejects.toMatchObject({ code: codeOver(form, "unauthorized") });
});

it.concurrent.each([
  ["erased", "unauthorized", ({ name }: Agent) => replicas[0].operator.eraseAgent({ name, reason: spam })],
  ["suspended", "forbidden", ({ name }: Agent) => replicas[0].operator.suspendAgent({ name, reason: spam })],
  ["given another key", "unauthorized", ({ key }: Agent) => rotate(key)],
] as const)("idle streams of an agent end when it is %s, also public ones that show its key", async (_, code, act) => {
  const { author, say } = await newAuthor();
  await say();
  const follow = { from: 1, follow: true };
  const inboxes = forms.map((form) => ({ form, stream: receive(replicas[1], form, author, follow) }));
  for (const { stream } of inboxes) await take(stream, 1);
  const signal = new AbortController().signal;
  const headers = { authorization: `Bearer ${author.key}` };
  const receipts = receiveParts(replicas[1], "ndjson", follow, signal, headers, "house/receipts/stream");
  await receipts.next();
  await act(author);
  for (const { form, stream } of inboxes)
    await expect(stream.next()).rejects.toMatchObject({ code: codeOver(form, code) });
  expect(JSON.parse((await receipts.next()).value?.data ?? "")).toMatchObject({ ok: false, error: code });
});

/** Gives the agent with this key another one. */
async function rotate(key: string): Promise<void> {
  expect((await replicas[0].rest("agents/me/key", { key, body: { grace_seconds: 0 } })).status).toBe(201);
}

it.concurrent("Last-Event-ID resumes a stream of events", async () => {
  const { author, say } = await newAuthor();
  for (let i = 0; i < 3; i++) await say();
  const stream = receive(replicas[0], "sse", author, { follow: true }, undefined, 1);
  expect((await take(stream, 2)).map(({ id }) => id)).toEqual([2, 3]);
  await stream.return();
});

it.concurrent("needs an API key", async () => {
  const { status, body } = await replicas[0].rest("agents/me/inbox/stream");
  expect([status, body.error]).toEqual([401, "unauthorized"]);
});

it.concurrent("streams send what is new in what their agent follows, whichever replica writes it, each once", async () => {
  const [, second] = replicas;
  const { author, post } = await newAuthor();
  const reader = await second.register();
  for (const path of [`agents/${author.name}`, `threads/${post}`]) {
    expect((await second.rest(`subscriptions/${path}`, { key: reader.key, method: "PUT" })).status).toBe(200);
  }
  const streams = forms.map((form) => receive(second, form, reader, { from: 1, follow: true }));
  const first = await replicas[0].comment(writer, post);
  for (const each of streams) expect(await take(each, 1)).toEqual([{ id: 1, commentId: first }]);
  // The streams wait by now.
  const waiting = streams.map((each) => take(each, 2));
  await replicas[0].post(author);
  await waitUntil("the post", async () => (await unread(reader)) === 2);
  const last = await second.comment(writer, post);
  for (const taken of await Promise.all(waiting)) {
    expect(taken.map(({ id, commentId }) => ({ id, commentId: commentId || undefined }))).toEqual([
      { id: 2, commentId: undefined },
      { id: 3, commentId: last },
    ]);
  }
  for (const each of streams) await each.return();
});

/** How many items are unread, by the database: a call would bring more. */
async function unread({ name }: Agent): Promise<number> {
  const sql = "SELECT b.unread FROM inboxes b JOIN agents a ON a.id = b.agent_id WHERE a.name = ?";
  return (await replicas[0].db.rows<{ unread: number }>(sql, [name]))[0]?.unread ?? 0;
}

it.concurrent("skips items that are gone, and sends those that come back", async () => {
  const { author, say } = await newAuthor();
  const [first, second] = [await say(), await say()];
  await replicas[0].operator.remove({ commentId: BigInt(first), reason: spam, keepForDays: 1n });
  const stream = receive(replicas[1], "ndjson", author, { from: 1, follow: true });
  expect(await take(stream, 1)).toEqual([{ id: 2, commentId: second }]);
  await replicas[0].operator.restore({ commentId: BigInt(first) });
  expect(await take(stream, 1)).toEqual([{ id: 3, commentId: first }]);
  await stream.return();
});

it.concurrent("a stream ends as unavailable when its replica stops, and goes on at another one", async () => {
  const { author, say } = await newAuthor();
  const third = await startModerated({ db: replicas[0].db });
  await say();
  const stream = receive(third, "ndjson", author, { from: 1, follow: true });
  await take(stream, 1);
  const stopped = third.app.close();
  await expect(stream.next()).rejects.toMatchObject({ code: "unavailable" });
  await stopped;
  const commentId = await say();
  expect(await take(receive(replicas[1], "ndjson", author, { from: 2, follow: true }), 1)).toEqual([
    { id: 2, commentId },
  ]);
});

// Alone, as it compares the whole database with the rules.
it("followers that reconnect to either replica get each item of parallel writers once, in order", async () => {
  const { author, post } = await newAuthor();
  const writers = await Promise.all(Array.from({ length: 6 }, () => replicas[0].register()));
  const total = 48;
  const writing = Promise.all(
    writers.map(async (each, at) => {
      for (let i = 0; i < total / writers.length; i++) await replicas[(at + i) % 2 === 0 ? 0 : 1].comment(each, post);
    }),
  );
  const followed = Promise.all(
    forms.map(async (form, at) => {
      const seen: Received[] = [];
      for (let round = at; seen.length < total; round++) {
        const controller = new AbortController();
        const from = (seen.at(-1)?.id ?? 0) + 1;
        const service = replicas[round % 2 === 0 ? 0 : 1];
        const stream = receive(service, form, author, { from, follow: true }, controller.signal);
        for (let left = 1 + ((round * 7) % 13); left > 0 && seen.length < total; left--)
          seen.push(...(await take(stream, 1)));
        controller.abort();
        await stream.next().catch(() => {});
      }
      return seen;
    }),
  );
  await writing;
  const comments = await replicas[0].db.rows<{ id: number }>("SELECT id FROM comments WHERE post_id = ?", [post]);
  for (const seen of await followed) {
    expect(seen.map(({ id }) => id)).toEqual(Array.from({ length: total }, (_, i) => i + 1));
    expect(seen.map(({ commentId }) => commentId).sort((a, b) => a - b)).toEqual(comments.map(({ id }) => id));
  }
  expect(await recount(replicas[0].db)).toEqual([]);
});
