import { describe, expect, it } from "vitest";
import { createStoaClient, type StoaError } from "../../src/client/index.ts";
import { parseQuota } from "../../src/rate-limits/quota.ts";
import { freePort } from "../support/free-port.ts";
import { listenHttp } from "../support/http-server.ts";
import { startLimited } from "../support/limited.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { refuse, startFake } from "./fake-stoa.ts";
import { startProxy, type TcpProxy } from "./tcp-proxy.ts";

const service = await startService();

async function joinThrough(proxy: TcpProxy) {
  const { name, key } = await service.register();
  const errors: StoaError[] = [];
  const onRetry = (error: StoaError) => void errors.push(error);
  return { name, errors, stoa: createStoaClient(proxy.url, { apiKey: key, onRetry }) };
}

const keysOf = ({ sent }: TcpProxy) => sent.flatMap((each) => /^idempotency-key: (.*)\r$/im.exec(each)?.[1] ?? []);

describe.concurrent("a reply that is lost", () => {
  it("is requested again with the idempotency key of the first try, so that the call takes effect once", async () => {
    const proxy = await startProxy(service.url);
    const { stoa, errors } = await joinThrough(proxy);
    proxy.lose = 2;
    const replayed: (string | null)[] = [];
    const onHeader = (headers: Headers) => void replayed.push(headers.get("idempotency-replayed"));
    const { post } = await stoa.posts.createPost({ title: "Once, please" }, { onHeader });
    expect(replayed).toEqual(["true"]);
    expect((await stoa.agents.getMe({})).agent?.posts).toBe(1);
    expect(errors.map(({ code }) => code)).toEqual(["unreachable", "unreachable"]);
    const keys = keysOf(proxy);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(post?.title).toBe("Once, please");
  });

  it("of a registration or a rotation loses no API key", async () => {
    const proxy = await startProxy(service.url);
    proxy.lose = 1;
    const { agent, apiKey } = await createStoaClient(proxy.url).agents.registerAgent({ name: "Persaios" });
    const stoa = createStoaClient(proxy.url, { apiKey });
    expect((await stoa.agents.getMe({})).agent).toEqual(agent);
    proxy.lose = 1;
    const rotated = await stoa.agents.rotateKey({ graceSeconds: 0 });
    expect((await createStoaClient(proxy.url, { apiKey: rotated.apiKey }).agents.getMe({})).agent).toEqual(agent);
    await expect(stoa.agents.getMe({})).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("of a vote or a read needs no idempotency key", async () => {
    const proxy = await startProxy(service.url);
    const { stoa } = await joinThrough(proxy);
    const other = await service.register();
    const { post } = await createStoaClient(service.url, { apiKey: other.key }).posts.createPost({ title: "Vote" });
    const id = post?.id as number;
    proxy.lose = 1;
    expect((await stoa.posts.upvotePost({ id })).result?.score).toBe(1);
    proxy.lose = 1;
    expect((await stoa.posts.getPost({ id })).post?.upvotes).toBe(1);
    expect(keysOf(proxy)).toEqual([]);
  });

  it("is requested with the caller's own idempotency key if there is one", async () => {
    const proxy = await startProxy(service.url);
    const { stoa } = await joinThrough(proxy);
    const key = crypto.randomUUID();
    proxy.lose = 1;
    await stoa.posts.createPost({ title: "Mine to repeat" }, { headers: { "Idempotency-Key": key } });
    expect(keysOf(proxy)).toEqual([key, key]);
  });

  it("that never arrives is awaited no longer than the limit of one try", async () => {
    const proxy = await startProxy(service.url);
    const errors: string[] = [];
    const onRetry = ({ code }: StoaError) => void errors.push(code);
    const stoa = createStoaClient(proxy.url, { tries: 1_000, tryTimeoutMs: 500, onRetry });
    proxy.withhold = 1;
    await stoa.posts.listPosts({});
    // On a busy machine, later tries may take too long as well.
    expect(new Set(errors)).toEqual(new Set(["silent"]));
  });

  it("is given up after the last try", async () => {
    const proxy = await startProxy(service.url);
    const stoa = createStoaClient(proxy.url, { tries: 2 });
    proxy.lose = 2;
    await expect(stoa.posts.listPosts({})).rejects.toMatchObject({ name: "StoaError", code: "unreachable" });
    expect(proxy.lose).toBe(0);
    await stoa.posts.listPosts({});
  });

  it("is given up when the time limit of the call, which includes all waits, is over", async () => {
    const proxy = await startProxy(service.url);
    const stoa = createStoaClient(proxy.url, { tries: 100 });
    proxy.lose = 100;
    const code = expect.stringMatching(/^(?:unreachable|silent)$/);
    await expect(stoa.posts.listPosts({}, { timeoutMs: 300 })).rejects.toMatchObject({ code });
    // All tries with their waits would take hours.
    expect(proxy.lose).toBeGreaterThan(0);
  });
});

describe.concurrent("a service that asks to wait", () => {
  const limited = { error: "rate_limited", message: "Slowly.", retry_after_seconds: 1 };

  it("is not called again earlier", async () => {
    const fake = await startFake([]);
    const times: number[] = [];
    fake.intercept = (_, response) => {
      times.push(performance.now());
      if (times.length === 1) refuse(response, 429, limited);
      else response.writeHead(200, { "content-type": "application/proto" }).end();
      return true;
    };
    await createStoaClient(fake.url).communities.listCommunities({});
    const [first = 0, second = 0] = times;
    expect(second - first).toBeGreaterThanOrEqual(999);
  });

  it("for longer than the caller accepts makes the call fail at once", async () => {
    const fake = await startFake([]);
    fake.intercept = (_, response) => {
      refuse(response, 429, { ...limited, retry_after_seconds: 3_600 });
      return true;
    };
    const call = createStoaClient(fake.url).communities.listCommunities({});
    await expect(call).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 3_600, kind: "unavailable" });
    expect(fake.asked).toHaveLength(1);
  });
});

it.concurrent("a caller that exceeds the limits is only slowed down", async () => {
  const limited = await startLimited({ posts: parseQuota("2/2s") });
  const { key } = await limited.register();
  const waits: [string, number | undefined][] = [];
  // The service's clock moves only here, so that a slow machine exceeds the limits as well.
  const onRetry = ({ code, retryAfterSeconds }: StoaError) => {
    waits.push([code, retryAfterSeconds]);
    limited.clock.pass(retryAfterSeconds ?? 0);
  };
  const stoa = createStoaClient(limited.url, { apiKey: key, onRetry });
  for (let n = 0; n < 3; n++) await stoa.posts.createPost({ title: `Post ${n}` });
  expect((await stoa.agents.getMe({})).agent?.posts).toBe(3);
  expect(waits).toEqual([["rate_limited", 1]]);
});

describe.concurrent("a service that restarts", () => {
  it("is waited for", async () => {
    const config = { port: await freePort() };
    const first = await startService({ config });
    const { key } = await first.register();
    const errors: string[] = [];
    const onRetry = ({ kind }: StoaError) => void errors.push(kind);
    const stoa = createStoaClient(first.url, { apiKey: key, tries: 100, onRetry });
    await stoa.agents.getMe({});
    await first.app.close();
    const calls = [stoa.posts.createPost({ title: "While it was away" }), stoa.agents.getMe({})];
    await waitUntil("both calls to fail", () => errors.length >= 2);
    await startService({ db: first.db, config });
    await Promise.all(calls);
    // A service that starts may already answer, with 503.
    expect(new Set([...errors, "unavailable"])).toEqual(new Set(["unreachable", "unavailable"]));
    const me = await stoa.agents.getMe({});
    expect(me.agent?.posts).toBe(1);
  });
});

describe("a call that is cancelled", () => {
  const reason = new Error("enough");

  it("ends with the signal's reason during a try", async () => {
    const proxy = await startProxy(service.url);
    proxy.withhold = 1;
    const stop = new AbortController();
    const call = createStoaClient(proxy.url).posts.listPosts({}, { signal: stop.signal });
    await waitUntil("the try", () => proxy.withhold === 0);
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it("ends with the signal's reason while it waits for the next try", async () => {
    const { url, close } = await listenHttp(() => {});
    await close();
    const stop = new AbortController();
    const stoa = createStoaClient(url, { onRetry: () => stop.abort(reason) });
    await expect(stoa.posts.listPosts({}, { signal: stop.signal })).rejects.toBe(reason);
  });

  it("does not begin if the signal has already aborted", async () => {
    const proxy = await startProxy(service.url);
    const signal = AbortSignal.abort(reason);
    await expect(createStoaClient(proxy.url).posts.listPosts({}, { signal })).rejects.toBe(reason);
    const { value } = await createStoaClient(proxy.url)
      .feed({ signal })
      .next()
      .catch((error) => ({ value: error }));
    expect(value).toBe(reason);
    expect(proxy.sent).toEqual([]);
  });
});
