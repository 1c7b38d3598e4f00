// The health protocol as gRPC's own client for it sees it, with gRPC's own proto file.
import { connect } from "node:http2";
import { type Client, type ClientReadableStream, credentials, makeClientConstructor, status } from "@grpc/grpc-js";
import { service as healthDefinition } from "grpc-health-check";
import { describe, expect, it } from "vitest";
import { HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { afterFile } from "../support/after-file.ts";
import { createLinkedDatabase } from "../support/database-link.ts";
import { operatorToken } from "../support/moderation.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

interface HealthClient extends Client {
  check(request: object, done: (error: Error | null, reply: { status: string }) => void): void;
  list(request: object, done: (error: Error | null, reply: { statuses: Record<string, object> }) => void): void;
  watch(request: object): ClientReadableStream<{ status: string }>;
}

const ours = (await contractServices()).map(({ typeName }) => typeName);

function healthClient({ url }: Pick<Service, "url">) {
  const Constructor = makeClientConstructor(healthDefinition as never, "Health");
  const client = new Constructor(new URL(url).host, credentials.createInsecure()) as unknown as HealthClient;
  afterFile(() => client.close());
  const unary =
    (method: "check" | "list") =>
    (request: object): Promise<unknown> =>
      new Promise((resolve, reject) => {
        client[method](request, (error: Error | null, reply: unknown) => (error ? reject(error) : resolve(reply)));
      });
  return {
    check: unary("check"),
    list: unary("list"),
    /** The states that the watcher receives; `ended` resolves with the status at its end. */
    watch(service: string) {
      const received: string[] = [];
      const stream = client.watch({ service });
      stream.on("data", (reply) => received.push(reply.status));
      stream.on("error", () => {});
      const ended = new Promise<number>((resolve) => stream.on("status", ({ code }) => resolve(code)));
      return { received, ended, stream };
    },
  };
}

describe("the health of a service that can serve", async () => {
  const client = healthClient(await startService({ config: { operatorToken } }));

  it("is SERVING for each service of the contract and for all; another name is NOT_FOUND", async () => {
    for (const name of ["", ...ours]) expect(await client.check({ service: name })).toEqual({ status: "SERVING" });
    for (const name of ["stoa.v1", "PostService", "grpc.health.v1.Health"]) {
      await expect(client.check({ service: name })).rejects.toMatchObject({ code: status.NOT_FOUND });
    }
    const { statuses } = (await client.list({})) as { statuses: object };
    expect(Object.keys(statuses).sort()).toEqual(["", ...ours].sort());
  });

  it("is SERVICE_UNKNOWN to a watch of another name, which stays open", async () => {
    const { received, stream, ended } = client.watch("no.such.Service");
    await waitUntil("the state", () => received.length === 1);
    expect(await client.check({ service: "" })).toEqual({ status: "SERVING" });
    expect(received).toEqual(["SERVICE_UNKNOWN"]);
    stream.cancel();
    expect(await ended).toBe(status.CANCELLED);
  });

  it("is refused to a watch of a name that is longer than any service's", async () => {
    const longest = client.watch("x".repeat(256));
    await waitUntil("the state", () => longest.received.length === 1);
    expect(await client.watch("x".repeat(257)).ended).toBe(status.INVALID_ARGUMENT);
    expect(longest.received).toEqual(["SERVICE_UNKNOWN"]);
  });
});

it("a watcher sees the database fail and recover", async () => {
  const db = await createLinkedDatabase();
  const service = await startService({ db });
  const client = healthClient(service);
  const { received } = client.watch("stoa.v1.PostService");
  await waitUntil("the first state", () => received.length === 1);
  // Without an operator.
  const forOperators = client.check({ service: "stoa.v1.LedgerOperatorService" });
  await expect(forOperators).rejects.toMatchObject({ code: status.NOT_FOUND });
  await db.relay.close();
  await waitUntil("the second state", () => received.length === 2);
  expect(await client.check({ service: "" })).toEqual({ status: "NOT_SERVING" });
  expect((await service.rest("/readyz")).status).toBe(503);
  await db.relay.open();
  await waitUntil("the third state", () => received.length === 3);
  expect(received).toEqual(["SERVING", "NOT_SERVING", "SERVING"]);
  expect(await client.check({ service: "" })).toEqual({ status: "SERVING" });
  expect((await service.rest("/readyz")).status).toBe(200);
  const messages = service.log.map(({ msg }) => msg);
  expect(messages.filter((message) => message === "not ready" || message === "ready again")).toEqual([
    "not ready",
    "ready again",
  ]);
});

it("a drain is announced to watchers, then ends their streams, and GOAWAY follows; nobody is waited for", async () => {
  // Longer than a test may take: closing cannot have waited for it.
  const service = await startService({ config: { drainTimeoutMs: 3_600_000 } });
  const client = healthClient(service);
  const watches = ["", "no.such.Service"].map((name) => client.watch(name));
  const paused = healthClient(service).watch("");
  const session = connect(service.url);
  const frames: string[] = [];
  session.on("goaway", () => frames.push("GOAWAY"));
  const headers = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ":path": "/grpc.health.v1.Health/Watch", ...headers });
  stream.on("data", (bytes: Buffer) => frames.push(bytes.toString("hex")));
  stream.on("trailers", (trailers) => frames.push(`status ${trailers["grpc-status"]}`));
  stream.end(Buffer.alloc(5)); // one empty message
  const haveAll = () => frames.length === 1 && [...watches, paused].every(({ received }) => received.length === 1);
  await waitUntil("the first states", haveAll);
  paused.stream.pause();
  await service.app.close();
  session.destroy();
  expect(await Promise.all(watches.map(({ ended }) => ended))).toEqual(watches.map(() => status.UNAVAILABLE));
  expect(watches.map(({ received }) => received)).toEqual([["SERVING", "NOT_SERVING"], ["SERVICE_UNKNOWN"]]);
  const state = (status: Status) => `0000000002080${status}`;
  const [serving, notServing] = [state(Status.SERVING), state(Status.NOT_SERVING)];
  expect(frames.slice(0, 3)).toEqual([serving, notServing, `status ${status.UNAVAILABLE}`]);
  expect(new Set(frames.slice(3))).toEqual(new Set(["GOAWAY"]));
});
