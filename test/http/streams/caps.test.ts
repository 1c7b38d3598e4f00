import { expect, it } from "vitest";
import { defaultQuotas } from "../../../src/rate-limits/quota.ts";
import { createDatabaseWithSchema } from "../../support/database.ts";
import type { Service } from "../../support/service.ts";
import { type Kind, kinds, openStream, startStreaming } from "./support.ts";

const refusal = (kind: Kind, whose: string, most: number) => ({
  code: "rate_limited",
  message: `There are ${most} open streams ${whose}, the maximum; end one, or try again later.`,
  retryAfterSeconds: 10,
  ...(kind.endsWith("ndjson") || kind.endsWith("sse") ? { status: 429 } : {}),
});

// Each test has a service of its own, with other caps, on the same database.
const db = await createDatabaseWithSchema();

/** The headers of an agent whose key is known to be good. */
async function headersOf(service: Pick<Service, "register" | "rest">): Promise<{ authorization: string }> {
  const { key } = await service.register();
  await service.rest("agents/me", { key });
  return { authorization: `Bearer ${key}` };
}

it("streams of all kinds count together for their address", async () => {
  const service = await startStreaming({ perAddress: 2 }, { db });
  const first = await openStream(service, "watch connect");
  const other = await openStream(service, "receipts ndjson");
  for (const kind of kinds) {
    await expect(openStream(service, kind)).rejects.toEqual(refusal(kind, "from this address", 2));
  }
  expect(await service.open()).toBe(2);
  other.leave();
  await service.untilOpen(1);
  await openStream(service, "receipts grpc");
  first.leave();
  await service.untilOpen(1);
});

it("the total number of streams is limited, whatever their kind", async () => {
  const service = await startStreaming({ total: 2 }, { db });
  await openStream(service, "watch grpc");
  await openStream(service, "receipts sse", await headersOf(service));
  for (const kind of kinds) {
    await expect(openStream(service, kind)).rejects.toEqual({
      code: "unavailable",
      message: "The service has too many open streams.",
      retryAfterSeconds: 10,
      ...(kind.endsWith("ndjson") || kind.endsWith("sse") ? { status: 503 } : {}),
    });
  }
  expect((await service.rest("posts")).status).toBe(200);
});

it("callers that have many streams leave places to others", async () => {
  const service = await startStreaming({ total: 12 }, { db });
  const opened: number[] = [];
  for (let caller = 0; caller < 5; caller++) {
    const headers = await headersOf(service);
    const open = async () => {
      try {
        return await openStream(service, "receipts grpc", headers);
      } catch {
        return undefined;
      }
    };
    let count = 0;
    while (await open()) count += 1;
    opened.push(count);
  }
  expect(opened).toEqual([3, 2, 2, 1, 1]);
});

it("the streams on one connection are counted", async () => {
  const service = await startStreaming({ perConnection: 2 }, { db });
  const session = service.connectOnce();
  for (let count = 0; count < 2; count++) await openStream(session, "watch grpc");
  await expect(openStream(session, "receipts grpc")).rejects.toEqual(refusal("watch grpc", "on this connection", 2));
  await openStream(service.connectOnce(), "receipts grpc");
  session.close();
  await service.untilOpen(1);
});

it.each([
  ["with rate limits", defaultQuotas],
  ["without rate limits", undefined],
])("a stream with a valid key counts for its agent, not for its address or connection, %s", async (_, rateLimits) => {
  const config = { rateLimits };
  const service = await startStreaming({ perAgent: 2, perAddress: 1, perConnection: 1 }, { db, config });
  const [first, second] = [await headersOf(service), await headersOf(service)];
  const session = service.connectOnce();
  for (const headers of [first, second]) {
    await openStream(session, "receipts grpc", headers);
    await openStream(session, "receipts grpc", headers);
    await expect(openStream(session, "receipts grpc", headers)).rejects.toEqual(
      refusal("receipts grpc", "of this agent", 2),
    );
    await expect(openStream(service, "receipts sse", headers)).rejects.toEqual(
      refusal("receipts sse", "of this agent", 2),
    );
  }
  for (const kind of ["watch connect", "reflection v1", "reflection v1alpha"] as const) {
    await expect(openStream(service, kind, first)).rejects.toEqual(refusal(kind, "of this agent", 2));
  }
  // A wrong key is none.
  await openStream(session, "receipts grpc", { authorization: `Bearer stoa_${"x".repeat(43)}` });
  await expect(openStream(service, "receipts ndjson", { authorization: "Bearer wrong" })).rejects.toEqual(
    refusal("receipts ndjson", "from this address", 1),
  );
});

it("a trusted proxy's connections and address are not counted, but its clients are", async () => {
  const service = await startStreaming(
    { perAddress: 2, perConnection: 1 },
    { db, config: { trustProxy: ["loopback"] } },
  );
  const session = service.connectOnce();
  const from = (address: string) => openStream(session, "receipts grpc", { "x-forwarded-for": address });
  for (const address of ["192.0.2.1", "2001:db8::1", "2001:db8::2", "192.0.2.1"]) await from(address);
  for (const address of ["192.0.2.1", "2001:db8::3"]) {
    await expect(from(address)).rejects.toEqual(refusal("receipts grpc", "from this address", 2));
  }
  // What the proxy asks for itself.
  for (let count = 0; count < 3; count++) await openStream(session, "watch grpc");
  await service.untilOpen(7);
});
