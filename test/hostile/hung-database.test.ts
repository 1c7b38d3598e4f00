// The database hangs: its connections are frozen on the way. The service answers all the same. test/faults stops its process,
// and test/app/stop.test.ts ends a service meanwhile.
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { createLinkedDatabase, type LinkedDatabase } from "../support/database-link.ts";
import { urlOf } from "../support/process.ts";
import { askRest, connectTo, type Reply } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { startVictim, type Victim } from "./support.ts";

const timeoutMs = 3_000;
/** What a reply may take beyond its time on a busy machine, in milliseconds: less than being given the time twice takes. */
const toleranceMs = 1_500;
const metricsToken = "an-example-of-32-characters-or-more";
const environment = {
  STOA_DATABASE_TIMEOUT_SECONDS: String(timeoutMs / 1000),
  STOA_DRAIN_SECONDS: "1",
  STOA_METRICS_TOKEN: metricsToken,
};

interface Timed extends Reply {
  ms: number;
}

async function ask(victim: Victim, path: string, body?: object): Promise<Timed> {
  const begun = performance.now();
  const headers = { "idempotency-key": `${Math.random()}-${Math.random()}` };
  const reply = await askRest(victim.url, path, body === undefined ? {} : { key: victim.key, body, headers });
  return { ...reply, ms: performance.now() - begun };
}

/** More calls of all kinds than there are connections. */
function askAll(victim: Victim): Promise<Timed[]> {
  const paths = ["posts", "posts/1", "agents/Neighbour", "communities", "house/receipts/1", "/house/verify"];
  const reads = Array.from({ length: 42 }, (_, i) => ask(victim, paths[i % paths.length] as string));
  const writes = Array.from({ length: 10 }, (_, i) => ask(victim, "posts", { title: `Hung ${i}` }));
  return Promise.all([...reads, ...writes]);
}

function expectUnavailable(replies: Timed[]): void {
  for (const { status, body, ms } of replies) {
    expect(status).toBe(503);
    expect(body).toMatchObject({ ok: false, error: "unavailable" });
    expect(body.retry_after_seconds).toBeGreaterThan(0);
    expect(ms).toBeLessThan(timeoutMs + toleranceMs);
  }
}

/** The load that /metrics shows: connections in use and calls that wait. */
async function load(victim: Victim): Promise<number[]> {
  const text = await (
    await fetch(`${victim.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
  ).text();
  return ["connections_in_use", "calls_waiting"].map((name) =>
    Number(new RegExp(`^stoa_database_${name} (\\d+)$`, "m").exec(text)?.[1]),
  );
}

async function expectGood(victim: Victim): Promise<void> {
  await waitUntil("the service to be ready", async () => (await ask(victim, "/readyz")).status === 200);
  expect((await ask(victim, "posts")).status).toBe(200);
  expect((await ask(victim, "posts", { title: "Back again" })).status).toBe(201);
  await waitUntil("the lost calls to be forgotten", async () => (await load(victim)).every((count) => count === 0));
}

/** Calls over gRPC with a deadline. @returns the code of the failure and how long it took */
async function askWithDeadline(victim: Victim, ms: number): Promise<{ code: Code; ms: number }> {
  const client = connectTo(victim.url, PostService, "grpc");
  const begun = performance.now();
  const failure = await client.listPosts({}, { timeoutMs: ms }).then(
    () => ({ code: 0 as Code }),
    (error: { code: Code }) => error,
  );
  return { code: failure.code, ms: performance.now() - begun };
}

describe("frozen connections to the database", () => {
  let link: LinkedDatabase;
  let victim: Victim;
  beforeAll(async () => {
    link = await createLinkedDatabase();
    victim = await startVictim({ ...environment, STOA_DATABASE_URL: urlOf(link.config) });
  });

  it("do not delay the reply of any call beyond its time, and the service recovers with the database", async () => {
    const first = await ask(victim, "posts", { title: "Before" });
    expect(first.status).toBe(201);
    link.relay.freeze();
    const health = ask(victim, "/readyz");
    expectUnavailable(await askAll(victim));
    expectUnavailable([await health]);
    expect((await ask(victim, "/healthz")).status).toBe(200);
    // What waits is the service's own work alone: it tries again and again.
    const waiting = async () => (await load(victim))[1] as number;
    await waitUntil("the callers to be gone from the queue", async () => (await waiting()) < 10);
    link.relay.thaw();
    await expectGood(victim);
  });

  it("delay no caller beyond its own deadline, and keep nothing of its call", async () => {
    link.relay.freeze();
    const calls = await Promise.all(Array.from({ length: 50 }, () => askWithDeadline(victim, 300)));
    for (const { code, ms } of calls) {
      expect(code).toBe(Code.DeadlineExceeded);
      expect(ms).toBeLessThan(300 + toleranceMs);
    }
    await waitUntil("the callers to be gone", async () => ((await load(victim))[1] as number) < 10, timeoutMs);
    link.relay.thaw();
    await expectGood(victim);
  });
});
