// The service with two workers, as a process: what one process guarantees, both together guarantee.
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.js";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

interface Answer {
  status: number;
  /** The calls that remain by the limit of the header. */
  remaining: number;
}

/** Makes `count` requests at the same time, each on a connection of its own. */
function askTogether(
  url: string,
  path: string,
  count: number,
  headers: Record<string, string> = {},
): Promise<Answer[]> {
  const asks = Array.from({ length: count }, async () => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    request(`${url}${path}`, { agent: new Agent(), headers }, (response) => {
      const remaining = Number(/;r=(\d+)/.exec(String(response.headers.ratelimit))?.[1]);
      response.resume().once("end", () => resolve({ status: response.statusCode ?? 0, remaining }));
    })
      .once("error", reject)
      .end();
    return promise;
  });
  return Promise.all(asks);
}

/** The processes that a process has started, by the program that they run. */
function workersOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return children.map(Number).filter((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("worker.ts"));
}

const isRunning = (pid: number) =>
  existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "";

describe("the service with two workers", () => {
  let db: TestDatabase;
  let service: ServiceProcess;
  let url: string;
  let key: string;
  /** Requests of a client at an address of its own. */
  const from = (address: string) => ({ "x-forwarded-for": address });
  const lines = (process = service) =>
    process.output.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));

  beforeAll(async () => {
    db = await createTestDatabase();
    service = new ServiceProcess({
      STOA_DATABASE_URL: urlOf(db.config),
      STOA_WORKERS: "2",
      STOA_TRUST_PROXY: "127.0.0.1",
      STOA_METRICS_PORT: "0",
      STOA_LIMIT_READS: "40/1d",
      STOA_LIMIT_CALLS: "30/1d",
      STOA_LIMIT_REFUSALS: "20/1d",
      STOA_LIMIT_CREDENTIALS: "10/1d",
      STOA_MAX_STREAMS_PER_ADDRESS: "4",
      STOA_MAX_CONNECTIONS_PER_ADDRESS: "10",
    });
    url = await service.url();
    const { status, body } = await askRest(url, "agents/register", {
      body: { name: "Ada" },
      headers: from("192.0.2.9"),
    });
    expect(status).toBe(201);
    key = body.api_key;
  });
  afterAll(() => service.end("SIGKILL"));

  it("serves from both, and sums what they count", async () => {
    await askTogether(url, "/api/v1/posts", 10, from("192.0.2.1"));
    const countOf = (worker: number) =>
      lines().filter((line) => line.worker === worker && line.route === "/api/v1/posts").length;
    await waitUntil("ten lines of the log", () => countOf(1) + countOf(2) === 10);
    expect(Math.min(countOf(1), countOf(2))).toBeGreaterThanOrEqual(3);
    const { metrics } = lines().find(({ msg }) => msg === "listening") as { metrics: string };
    const text = await (await fetch(metrics)).text();
    expect(text).toContain('stoa_requests_total{operation="ListPosts",protocol="rest",code="ok"} 10\n');
    expect(text.match(/^stoa_ledger_head_seq .*$/gm)).toEqual(["stoa_ledger_head_seq 1"]);
  });

  it.each([
    ["reads of an address", "/api/v1/posts", () => from("192.0.2.2"), 40, 200],
    ["calls of an agent", "/api/v1/agents/me", () => ({ authorization: `Bearer ${key}` }), 30, 200],
  ])("gives away each of the %s once, and says how many remain", async (_, path, headers, quota, good) => {
    const answers = await askTogether(url, path, quota + 15, headers());
    const allowed = answers.filter(({ status }) => status === good);
    expect(allowed.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual(
      Array.from({ length: quota }, (_, index) => index),
    );
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15);
  });

  it("gives a client on one connection its whole limit", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const statuses: number[] = [];
    for (let each = 0; each < 41; each++) {
      const { promise, resolve } = Promise.withResolvers<number>();
      request(`${url}/api/v1/posts`, { agent, headers: from("192.0.2.3") }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode ?? 0));
      }).end();
      statuses.push(await promise);
    }
    agent.destroy();
    expect(statuses.filter((status) => status === 200)).toHaveLength(40);
    expect(statuses.at(-1)).toBe(429);
  });

  it("refuses an address that sends faults, and wrong keys, on both", async () => {
    for (let each = 0; each < 4; each++) {
      const faults = await askTogether(url, "/api/v1/posts/x", 5, from("192.0.2.4"));
      expect(faults.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
    }
    // A fault counts when its reply has been sent, and the other worker looks at the count a moment later.
    await waitUntil("the last faults to count", async () => {
      const [{ status } = { status: 0 }] = await askTogether(url, "/api/v1/posts", 1, from("192.0.2.4"));
      return status === 429;
    });
    const refused = await askTogether(url, "/api/v1/posts", 4, from("192.0.2.4"));
    expect(refused.map(({ status }) => status)).toEqual([429, 429, 429, 429]);
    const wrong = { authorization: `Bearer stoa_${"x".repeat(43)}`, ...from("192.0.2.5") };
    const guesses = await askTogether(url, "/api/v1/agents/me", 16, wrong);
    expect(guesses.filter(({ status }) => status === 401)).toHaveLength(10);
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(6);
  });

  it("counts the connections of an address on both", async () => {
    // This address is not that of a proxy.
    const connectAs = () => connect({ port: Number(new URL(url).port), host: "127.0.0.1", localAddress: "127.0.0.2" });
    const sockets = Array.from({ length: 14 }, connectAs);
    const refused: string[] = [];
    for (const socket of sockets) {
      socket.on("error", () => {}).on("data", (data) => refused.push(data.toString("latin1", 0, 12)));
    }
    await waitUntil("the refusals", () => refused.length >= 4);
    expect(refused).toEqual(Array.from({ length: 4 }, () => "HTTP/1.1 429"));
    for (const socket of sockets) socket.destroy();
    await waitUntil("room for a connection", async () => {
      const again = connectAs().on("error", () => {});
      again.write("GET /healthz HTTP/1.1\r\nHost: stoa\r\nConnection: close\r\n\r\n");
      const [reply] = (await once(again, "data")) as [Buffer];
      return reply.toString("latin1", 0, 12) === "HTTP/1.1 200";
    });
  });

  it("counts the streams of an address on both, and those of a worker that dies no longer", async () => {
    const follow = async () => {
      const { promise, resolve } = Promise.withResolvers<number>();
      const asked = request(
        `${url}/api/v1/house/receipts/stream?follow=true`,
        { agent: new Agent(), headers: from("192.0.2.6") },
        (response) => {
          response.on("error", () => {}).resume();
          resolve(response.statusCode ?? 0);
        },
      );
      asked.on("error", () => {}).end();
      return { asked, status: await promise };
    };
    const opened = [];
    for (let each = 0; each < 6; each++) opened.push(await follow());
    expect(opened.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429]);

    const before = workersOf(service.pid);
    const [victim = 0] = before;
    process.kill(victim, "SIGKILL");
    // The other worker serves on. The streams of the dead one are forgotten, so there is room for others.
    await waitUntil("room for a stream", async () => (await follow()).status === 200);
    await waitUntil("another worker", () => {
      const now = workersOf(service.pid);
      return now.length === 2 && !now.includes(victim);
    });
    expect(lines().filter(({ msg }) => msg === "a worker has ended and will be started again")).toMatchObject([
      { signal: "SIGKILL", worker: expect.any(Number) },
    ]);
    for (const { asked } of opened) asked.destroy();
  });

  it("gives a worker that is started again what the limits have come to", async () => {
    const answered = () =>
      new Set(
        lines()
          .filter(({ msg }) => msg === "request")
          .map(({ pid }) => pid),
      );
    await waitUntil("replies of the new worker", async () => {
      const answers = await askTogether(url, "/api/v1/posts", 4, from("192.0.2.2"));
      expect(answers.map(({ status }) => status)).toEqual([429, 429, 429, 429]);
      return answered().size === 3;
    });
    // What the dead worker has counted stays, as of the last read.
    const { metrics } = lines().find(({ msg }) => msg === "listening") as { metrics: string };
    const text = await (await fetch(metrics)).text();
    expect(
      Number(/^stoa_requests_total\{operation="ListPosts",protocol="rest",code="ok"\} (\d+)$/m.exec(text)?.[1]),
    ).toBeGreaterThanOrEqual(10);
  });

  it("lets running calls finish when it is told to stop, tells those who watch, and leaves nothing behind", async () => {
    const health = createClient(Health, createGrpcTransport({ baseUrl: url }));
    const seen: Status[] = [];
    const watching = (async () => {
      for await (const { status } of health.watch({})) seen.push(status);
    })().catch(() => {});
    await waitUntil("the first state", () => seen.length > 0);
    const pids = workersOf(service.pid);
    service.signal("SIGTERM");
    expect(await service.exited).toBe(0);
    await watching;
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
    expect(pids.filter(isRunning)).toEqual([]);
  });
});
