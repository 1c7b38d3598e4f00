// npm run test:proxies: what two replicas on one database share, seen through each proxy.
import { randomUUID } from "node:crypto";
import { request } from "node:https";
import { beforeAll, describe, expect, it } from "vitest";
import { createOperatorClient } from "../../src/client/operator.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { proxyNames } from "./examples.ts";
import { Pair } from "./pair.ts";

const operatorToken = "proxies-operator-token-0123456789-abcdef";
const posts = 5;
/** How often something is tried until the proxy has divided it among both replicas. */
const maxTries = 50;

describe.each(proxyNames)("two replicas behind %s", (name) => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await Pair.start(name, { STOA_LIMIT_POSTS: `${posts}/1h`, STOA_OPERATOR_TOKEN: operatorToken });
  });

  let agents = 0;
  async function register(): Promise<string> {
    const body = { name: `Agent-${++agents}` };
    return JSON.parse((await pair.ask("/api/v1/agents/register", { body })).text).api_key;
  }
  const post = (key: string, title: string, headers: Record<string, string> = {}) =>
    pair.ask("/api/v1/posts", { key, body: { title }, headers });

  /** Calls CreatePost a number of times at once, and again until both replicas have got some of the calls. */
  async function onBoth<Replies>(calls: number, send: () => Promise<Replies>): Promise<Replies> {
    const total = (served: number[]) => served.reduce((sum, each) => sum + each);
    for (let tries = 0; tries < maxTries; tries++) {
      const before = pair.served("CreatePost");
      const replies = await send();
      // The log of a replica comes after its replies.
      await waitUntil("the log", () => total(pair.served("CreatePost")) >= total(before) + calls);
      if (pair.served("CreatePost").every((count, index) => count > (before[index] as number))) return replies;
    }
    throw new Error("the proxy never divided the calls");
  }

  it("let an agent write as much as its limit says in all, and no more", async () => {
    const replies = await onBoth(4 * posts, async () => {
      const key = await register();
      return Promise.all(Array.from({ length: 4 * posts }, (_, n) => post(key, `post ${n}`)));
    });
    const statuses = replies.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(posts).fill(201), ...Array(3 * posts).fill(429)]);
  });

  it("perform a call once whose idempotency key comes to both, and replay it byte for byte", async () => {
    const { title, replies } = await onBoth(4, async () => {
      const key = await register();
      const id = randomUUID();
      const send = () => post(key, `by key ${id}`, { "idempotency-key": id });
      return { title: `by key ${id}`, replies: await Promise.all(Array.from({ length: 4 }, send)) };
    });
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(201);
    const performed = replies.filter(({ headers }) => headers["idempotency-replayed"] === undefined);
    expect(performed).toHaveLength(1);
    expect(await pair.db.rows("SELECT id FROM posts WHERE title = ?", [title])).toHaveLength(1);
  });

  it("show what one has acknowledged on the other at once, also to those who share a read", async () => {
    const paths = ["/api/v1/posts?sort=new&limit=5", "/api/v1/feed?sort=new&limit=5"];
    for (let round = 0; round < 5; round++) {
      const title = `round ${round}`;
      expect((await post(await register(), title)).status).toBe(201);
      const reads = await Promise.all([
        ...paths.flatMap((path) => Array.from({ length: 8 }, async () => JSON.parse((await pair.ask(path)).text))),
        ...pair.urls.map(async (url) => (await askRest(url, "posts?sort=new&limit=5")).body),
      ]);
      for (const page of reads) expect(page.posts[0].title).toBe(title);
    }
  });

  it("let a follower of receipts go on where it was when each is restarted, without a gap", async () => {
    const seal = (n: number) =>
      createOperatorClient(pair.urls[n % 2] as string, { operatorToken }).sealSession({
        book: `book-${n}`,
        session: "2020-01-02",
        note: "",
        source: "a test",
      });
    const follower = follow(pair);
    await seal(0);
    await waitUntil("the first receipts", () => follower.seen.length >= 2);
    for (const index of [0, 1]) {
      // The stream is on one of them: it ends with that one, and goes on at the other.
      const restarted = pair.restart(index);
      await seal(index === 0 ? 1 : 2);
      await restarted;
      await seal(index === 0 ? 3 : 4);
    }
    await waitUntil("all receipts", () => follower.seen.length >= 6);
    follower.stop();
    expect(follower.seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(follower.connections).toBeGreaterThan(1);
  });
});

/** Follows the receipts from the first on, as a verifier does: it comes again with the next seq when its stream has ended. */
function follow({ site }: Pair): { seen: number[]; connections: number; stop(): void } {
  const stopped = new AbortController();
  const follower = { seen: [] as number[], connections: 0, stop: () => stopped.abort() };
  const connect = () => {
    if (stopped.signal.aborted) return;
    follower.connections += 1;
    const path = `/api/v1/house/receipts/stream?follow=true&from=${follower.seen.length + 1}`;
    const target = { host: "localhost", family: 4, port: site.port, ca: site.ca, path, agent: false };
    const sent = request({ ...target, signal: stopped.signal }, (response) => {
      let rest = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        const lines = (rest + part).split("\n");
        rest = lines.pop() as string;
        for (const line of lines) if (line !== "") take(JSON.parse(line));
      });
      response.once("error", () => {}).once("close", () => setTimeout(connect, 50));
    });
    sent.once("error", () => setTimeout(connect, 50)).end();
  };
  const take = ({ seq }: { seq?: number }) => {
    if (seq !== undefined) follower.seen.push(seq);
  };
  connect();
  return follower;
}
