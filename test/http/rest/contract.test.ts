import type { DescService } from "@bufbuild/protobuf";
import { pino } from "pino";
import { expect, it } from "vitest";
import type { Handler } from "../../../src/http/port/connection.ts";
import { Port } from "../../../src/http/port/port.ts";
import { createServer } from "../../../src/http/server.ts";
import { createRateLimiter } from "../../../src/rate-limits/rate-limiter.ts";
import { defaultStreamLimits } from "../../../src/rate-limits/stream-limits.ts";
import { BrokenService } from "../../support/fixture.ts";
import { noKeys } from "../../support/fixture-server.ts";

/** Makes a server of some RPCs of the broken service, which does not listen. */
async function serve(...names: string[]): Promise<void> {
  const methods = BrokenService.methods.filter(({ name }) => names.includes(name));
  expect(methods.length).toBe(names.length);
  const service = { ...BrokenService, methods } as DescService;
  const implementation = Object.fromEntries(
    methods.filter(({ name }) => name !== "NotImplemented").map(({ localName }) => [localName, () => ({})]),
  );
  const table = {
    services: [{ service, implementation }],
    authenticate: async () => undefined,
    checkRegistration() {},
    keys: noKeys,
    sharing: [],
    slow: [],
    refuseKeys: async () => {},
    beginCall: () => 10_000,
  };
  const times = { headersTimeoutMs: 10_000, requestTimeoutMs: 20_000, idleTimeoutMs: 75_000, drainTimeoutMs: 100 };
  const handle: Handler = (_request, response) => void response.destroy();
  const port = new Port(times, { handle, refuse: (status) => ({ status, body: "{}" }) });
  const server = await createServer({
    table,
    checkReady: async () => undefined,
    shutdown: new AbortController().signal,
    limiter: createRateLimiter(undefined, Date.now),
    streams: defaultStreamLimits,
    overload: { heapShare: undefined, residentBytes: undefined },
    trustProxy: [],
    logAddresses: "full",
    log: pino({ level: "silent" }),
    port,
  });
  await server.close();
}

it.each([
  [["UnknownPathField"], "/v1/{nothing}: fixture.v1.Thing has no nothing that a path could hold."],
  [["MessageInPath"], "/v1/{book}: fixture.v1.Thing has no book that a path could hold."],
  [["ListInPath"], "/v1/{tags}: fixture.v1.Thing has no tags that a path could hold."],
  [["MalformedTemplate"], "The path template /v1/{name is malformed"],
  [["NoPath"], "fixture.v1.BrokenService.NoPath has an HTTP rule without a path."],
  [["UnknownBody"], "fixture.v1.Thing has no field nothing."],
  [["UnknownResponseBody"], "fixture.v1.Thing has no field nothing."],
  [["ScalarResponseBody"], "fixture.v1.BrokenService.ScalarResponseBody: response_body must name a message field."],
  [["ListResponseBody"], "fixture.v1.BrokenService.ListResponseBody: response_body must name a message field."],
  [["NoAccess"], "fixture.v1.BrokenService.NoAccess does not say who may call it."],
  [["NotImplemented"], "fixture.v1.BrokenService.NotImplemented has no implementation."],
  [["One", "Other"], "Other and One would answer the same paths: /v1/x/:p2"],
])("a service does not start with %j", async (names, message) => {
  await expect(serve(...names)).rejects.toThrow(message);
});

it("a service starts with either of the two bindings that conflict", async () => {
  await serve("One");
});
