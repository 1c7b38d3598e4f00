import { connect as connectHttp2 } from "node:http2";
import { describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { fill, ledgerClient, startLedger, TestClock, unlockReceipts } from "../ledger/support.ts";
import { waitUntil } from "../support/wait.ts";

const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
// What is sealed below has the time of now. Midnight may come meanwhile.
const clock = new TestClock(new Date().toISOString());
const service = await startLedger({
  config: { metrics, databaseConnections: 8 },
  clock,
  overrides: { sealsDays: false, databaseLookMs: 50 },
});

/** Returns the samples of the text format by name and labels. It fails on an invalid line. */
async function scrape(): Promise<Map<string, number>> {
  const response = await fetch(service.app.metricsUrl as string);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-store");
  const samples = new Map<string, number>();
  const helped = new Set<string>();
  for (const line of (await response.text()).split("\n")) {
    const [, comment, name = ""] = /^# (HELP|TYPE) (\S+) \S/.exec(line) ?? [];
    if (comment === "HELP") {
      expect(helped, line).not.toContain(name);
      helped.add(name);
    }
    if (line === "" || comment !== undefined) continue;
    const [, key, value] = /^([a-z_]\w*(?:\{(?:\w+="[^"]*",?)+\})?) (\S+)$/i.exec(line) ?? [];
    if (key === undefined) throw new Error(`not a sample: ${line}`);
    expect(samples.has(key), line).toBe(false);
    samples.set(key, value === "Nan" ? Number.NaN : Number(value));
  }
  return samples;
}

const requests = (operation: string, protocol: string, code: string) =>
  `stoa_requests_total{operation="${operation}",protocol="${protocol}",code="${code}"}`;

describe("GET /metrics", () => {
  it("counts each request once, by operation, protocol and outcome", async () => {
    const { key } = await service.register();
    const over = (protocol: "grpc" | "connect" | "grpc-web") => service.connect(PostService, protocol);
    const posts = { grpc: over("grpc"), connect: over("connect"), web: over("grpc-web") };
    const before = await scrape();
    await service.rest("posts");
    await service.rest("feed");
    await service.rest("posts?limit=x");
    await service.rest("posts", { key, body: "{" });
    const made = await service.rest("posts", { key, body: { title: "Counted" } });
    await service.rest(`posts/${made.body.post.id}/upvote`, { key, method: "POST" });
    await posts.grpc.listPosts({});
    await posts.connect.getPost({ id: 4711n }).catch(() => {});
    await posts.grpc.listPosts({ limit: 1000n }).catch(() => {});
    await posts.grpc.createPost({ title: "No key" }).catch(() => {});
    await posts.web.listPosts({});
    await posts.web.getPost({ id: 4711n }).catch(() => {});
    const undecodable = { "content-type": "application/json", "connect-protocol-version": "1" };
    await service.rest("/stoa.v1.PostService/ListPosts", { body: "{", headers: undecodable });
    const ofNoProtocol = { body: "x", headers: { "content-type": "application/xml" } };
    for (const rpc of ["PostService/GetPost", "LedgerService/StreamReceipts"])
      await service.rest(`/stoa.v1.${rpc}`, ofNoProtocol);
    await service.rest("nowhere");
    await service.rest("/healthz");

    const expected = {
      [requests("ListPosts", "rest", "ok")]: 2,
      [requests("ListPosts", "rest", "bad_input")]: 1,
      [requests("CreatePost", "rest", "bad_json")]: 1,
      [requests("CreatePost", "rest", "ok")]: 1,
      [requests("UpvotePost", "rest", "own_content")]: 1,
      [requests("ListPosts", "grpc", "ok")]: 1,
      [requests("GetPost", "connect", "not_found")]: 1,
      [requests("ListPosts", "grpc", "bad_input")]: 1,
      [requests("CreatePost", "grpc", "unauthorized")]: 1,
      [requests("ListPosts", "grpc-web", "ok")]: 1,
      [requests("GetPost", "grpc-web", "not_found")]: 1,
      [requests("ListPosts", "connect", "refused")]: 1,
      [requests("GetPost", "connect", "refused")]: 1,
      [requests("StreamReceipts", "connect", "refused")]: 1,
    };
    // A reply is counted when it is out, which its client may see a moment earlier.
    const counted = async () => {
      const after = await scrape();
      const grown = [...after].filter(([key]) => key.startsWith("stoa_requests_total"));
      const by = grown.map(([key, value]): [string, number] => [key, value - (before.get(key) ?? 0)]);
      return Object.fromEntries(by.filter(([, value]) => value !== 0));
    };
    await waitUntil("every request to be counted", async () => {
      const sum = Object.values(await counted()).reduce((all, each) => all + each, 0);
      return sum >= Object.values(expected).reduce((all, each) => all + each, 0);
    });
    expect(await counted()).toEqual(expected);
  });

  it("has the durations of unary calls, and counts streams as they end", async () => {
    await service.rest("communities");
    const stream = await fetch(`${service.url}/api/v1/house/receipts/stream`);
    expect((await stream.text()).trim().split("\n")).toHaveLength(1);
    for await (const { receipt } of ledgerClient(service).streamReceipts({})) expect(receipt?.seq).toBe(1n);
    await expect(ledgerClient(service).streamReceipts({ from: 99n })[Symbol.asyncIterator]().next()).rejects.toThrow();
    let samples = new Map<string, number>();
    await waitUntil("the streams to be counted", async () => {
      samples = await scrape();
      return samples.has(requests("StreamReceipts", "grpc", "not_found"));
    });
    expect(samples.get(requests("StreamReceipts", "rest", "ok"))).toBe(1);
    expect(samples.get(requests("StreamReceipts", "grpc", "ok"))).toBe(1);
    const route =
      'http_route="/api/v1/communities",http_request_method="GET",url_scheme="http",http_response_status_code="200"';
    const of = (part: string) => samples.get(`http_server_request_duration_seconds_${part}${route}}`);
    expect(of('bucket{le="+Inf",')).toBe(1);
    expect(of('bucket{le="10",')).toBe(1);
    expect(of("count{")).toBe(1);
    expect(of("sum{")).toBeGreaterThan(0);
    const held = [...samples].flatMap(([key, n]) => (/_bucket.*"\/api\/v1\/communities"/.test(key) ? n : []));
    expect(held.length).toBeGreaterThan(10);
    expect(held, "a bucket holds what smaller ones hold").toEqual([...held].sort((a, b) => a - b));
    expect([...samples.keys()].some((key) => /duration.*(StreamReceipts|receipts\/stream)/.test(key))).toBe(false);
  });

  it("names durations as OpenTelemetry does", async () => {
    const before = await scrape();
    const overConnect = service.connect(PostService, "connect");
    await service.rest("posts/4711");
    const headers = { "content-type": "application/json" };
    const params = { name: "list_posts", arguments: {} };
    const tool = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    await (await fetch(`${service.url}/mcp`, { method: "POST", headers, body: tool })).text();
    await service
      .connect(PostService, "grpc")
      .getPost({ id: 4711n })
      .catch(() => {});
    await overConnect.getPost({ id: 4711n }).catch(() => {});
    await overConnect.listPosts({});
    const http = (method: string, status: number, route: string) =>
      `http_server_request_duration_seconds_count{http_route="${route}",http_request_method="${method}",url_scheme="http",http_response_status_code="${status}"}`;
    const rpc = (system: string, method: string, status?: string) =>
      `rpc_server_call_duration_seconds_count{rpc_system_name="${system}",rpc_method="stoa.v1.PostService/${method}"${status === undefined ? "" : `,rpc_status_code="${status}"`}}`;
    const expected = [
      http("GET", 404, "/api/v1/posts/{id}"),
      http("POST", 200, "/mcp"),
      rpc("grpc", "GetPost", "NOT_FOUND"),
      rpc("connectrpc", "GetPost", "not_found"),
      rpc("connectrpc", "ListPosts"),
    ];
    for (const each of expected)
      await waitUntil(each, async () => (await scrape()).get(each) === (before.get(each) ?? 0) + 1);
  });

  it("contains nothing that callers make up", async () => {
    await service.rest("posts?sort=made-up");
    await service.rest("agents/made-up");
    await service.rest("made-up", { method: "GET", headers: { "content-type": "application/made-up" } });
    await service.rest("/stoa.v1.PostService/MadeUp", { body: "{}" });
    expect([...(await scrape()).keys()].filter((key) => /made-?up/i.test(key))).toEqual([]);
  });

  it("reports the process", async () => {
    const samples = await scrape();
    for (const name of ["process_cpu_seconds_total", "nodejs_eventloop_lag_p99_seconds"])
      expect(samples.get(name), name).toBeGreaterThanOrEqual(0);
  });

  it("reports how many calls use the database, and how many wait for it", async () => {
    const load = async () => {
      const samples = await scrape();
      return ["connections_in_use", "calls_waiting"].map((name) => samples.get(`stoa_database_${name}`));
    };
    // What a start does by itself is done.
    await waitUntil("a database that is idle", async () => String(await load()) === "0,0");
    const connection = await service.db.pool.getConnection();
    await connection.query("LOCK TABLES communities WRITE");
    const calls = [1, 2, 3, 4, 5].map((number) => service.rest(`communities/unknown-${number}`));
    // Three of the connections are for reads. The service's own work may use or await others.
    await waitUntil("calls that wait", async () => {
      const [inUse = 0, waiting = 0] = await load();
      return inUse >= 3 && waiting >= 2;
    });
    await connection.query("UNLOCK TABLES");
    connection.release();
    await Promise.all(calls);
    await waitUntil("a database that is idle", async () => String(await load()) === "0,0");
  });
});

describe("the metrics of the ledger", () => {
  it("do not block the others when the database is down", async () => {
    await service.rest("feed");
    const connection = await service.db.pool.getConnection();
    await connection.query("LOCK TABLES ledger_head WRITE");
    const samples = await scrape();
    await connection.query("UNLOCK TABLES");
    connection.release();
    expect(samples.get("stoa_ledger_head_seq")).toBe(Number.NaN);
    expect(samples.get("stoa_ledger_alarm")).toBe(0);
    expect(samples.get(requests("ListPosts", "rest", "ok"))).toBeGreaterThanOrEqual(1);
  });
});

it("counts replays and shared reads", async () => {
  const before = await scrape();
  const added = async (name: string) => ((await scrape()).get(name) ?? 0) - (before.get(name) ?? 0);
  const { key } = await service.register();
  const headers = { "idempotency-key": "the-metrics-count-replays-of-this-key" };
  const repeat = () => service.rest("posts", { key, body: { title: "once" }, headers });
  const [first, second] = [await repeat(), await repeat()];
  expect([first.status, second.headers.get("idempotency-replayed")]).toEqual([201, "true"]);

  // The first read runs; the others wait, and share the next one. On one connection they arrive together.
  const lock = await service.db.pool.getConnection();
  await lock.query("LOCK TABLES posts WRITE");
  const session = connectHttp2(service.url);
  const reads = Array.from({ length: 5 }, () => {
    const stream = session.request({ ":path": "/api/v1/feed?sort=new" }).resume();
    return new Promise<unknown>((resolve) => stream.once("response", (reply) => resolve(reply[":status"])));
  });
  await waitUntil("a read to wait for the table", async () => {
    const rows = await service.db.rows<{ db: string | null; State: string | null }>("SHOW FULL PROCESSLIST");
    return rows.some(({ db, State }) => db === service.db.config.database && State?.startsWith("Waiting for table"));
  });
  await lock.query("UNLOCK TABLES");
  lock.release();
  expect(await Promise.all(reads)).toEqual([200, 200, 200, 200, 200]);
  session.destroy();
  // Replies are counted when they are out, which their client may see a moment earlier.
  await waitUntil("the reads to be counted", async () => (await added(requests("ListPosts", "rest", "ok"))) === 5);
  const shared = await added("stoa_shared_reads_total");
  expect(shared).toBeGreaterThanOrEqual(2);
  expect(shared).toBeLessThanOrEqual(4);
  expect(await added("stoa_replays_total")).toBe(1);
});

it("report the head of the ledger, whether it verifies, when that was checked, and each warning of /readyz", async () => {
  const samples = async (...names: string[]) => {
    const all = await scrape();
    return names.map((name) => all.get(`stoa_${name}`));
  };
  const ledger = () => samples("ledger_head_seq", "ledger_alarm", "ledger_verified_timestamp_seconds");
  const warnings = () => samples('warning{name="ledger"}', 'warning{name="triggers"}');
  await fill(service.db, 4);
  // The start has verified all that there was.
  expect(await ledger()).toEqual([5, 0, clock.ms / 1000]);
  clock.ms += 50_000;
  await service.rest("/house/verify");
  expect(await ledger()).toEqual([5, 0, clock.ms / 1000]);
  expect(await warnings()).toEqual([0, 0]);

  await unlockReceipts(service.db);
  await waitUntil("the warning", async () => String(await warnings()) === "0,1");
  await service.db.rows("UPDATE receipts SET hash = REPEAT('a', 64) WHERE seq = 3");
  expect((await ledger())[1]).toBe(0);
  await service.rest("/house/verify");
  expect((await ledger())[1]).toBe(1);
  await service.seal();
  expect((await ledger())[0]).toBe(6);
});
