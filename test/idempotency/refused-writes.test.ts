// Idempotency keys while the database refuses writes, as on a full disk: what was stored before is still replayed.
import { randomUUID } from "node:crypto";
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { Board } from "../../src/board/board.ts";
import { InboxStreams } from "../../src/board/inbox/streams.ts";
import { createInterceptors } from "../../src/calls/interceptors.ts";
import type { ServiceTable } from "../../src/calls/service-table.ts";
import { createUnaryCall } from "../../src/calls/unary-call.ts";
import { StoaError } from "../../src/errors.ts";
import { createPolicies } from "../../src/rate-limits/policy.ts";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { createRateLimiter } from "../../src/rate-limits/rate-limiter.ts";
import type { RequestLimits } from "../../src/rate-limits/request-limits.ts";
import { createServiceTable } from "../../src/services/table.ts";
import { Database } from "../../src/store/database/database.ts";
import { openLedger, TestClock } from "../ledger/support.ts";
import { afterFile } from "../support/after-file.ts";
import { anonymousCall, callOrigin } from "../support/call-context.ts";
import { createDatabaseWithSchema } from "../support/database.ts";

const hour = 3_600_000;
const isFull = new StoaError("unavailable", "The disk is almost full.", { retryAfterSeconds: 10 });
const clock = new TestClock("2026-05-01T12:00:00Z");
const limiter = createRateLimiter(
  createPolicies({ ...defaultQuotas, credentials: { calls: 3, windowSeconds: 30 } }),
  clock.now,
);
/** Why writes are refused; undefined while they are allowed. */
let refusal: StoaError | undefined;

const db = await createDatabaseWithSchema();
const { ledger } = await openLedger(db, clock.now);
const database = new Database({ address: db.config, connections: 4, refusal: () => refusal });
afterFile(() => database.close());
const board = new Board(database, clock.now);
const table: ServiceTable = createServiceTable({
  board,
  ledger,
  boardLog: { current: undefined },
  inboxes: new InboxStreams(database, board, new AbortController().signal, { error: () => {} }),
  siteUrl: "https://stoa.example",
  operators: undefined,
  registration: { mode: "open", token: undefined },
  writeLimits: undefined,
}) as ServiceTable;
beforeEach(() => {
  refusal = undefined;
});

interface Call {
  idempotencyKey?: string;
  apiKey?: string;
  limits?: RequestLimits;
}

/** Makes a call as the protocols do after admission. @returns the response, and whether it is a replay */
async function call(rpc: DescMethod, init: Record<string, unknown>, { idempotencyKey, apiKey, limits }: Call = {}) {
  const origin = callOrigin({ limits: limits ?? limiter.begin(`address ${randomUUID()}`) });
  const caller = apiKey === undefined ? undefined : await authenticate(apiKey, rpc);
  const service = table.services.find(({ service }) => service === rpc.parent);
  if (service === undefined) throw new Error(`There is no ${rpc.parent.typeName}.`);
  const make = createUnaryCall(rpc, service.implementation, createInterceptors(table.refuseKeys));
  const reply = await make(create(rpc.input, init), {
    method: "POST",
    url: "/",
    headers: () => new Headers(),
    call: anonymousCall({ origin, caller, idempotencyKey: idempotencyKey ?? null }),
  });
  const isReplayed = reply.headers?.get("idempotency-replayed") === "true";
  return { message: reply.message as Message & { apiKey: string }, isReplayed };
}

/** Finds out whose API key this is, by the look-up of its first use. */
async function authenticate(apiKey: string, rpc: DescMethod, signal = new AbortController().signal) {
  const shown = table.keys.shown(`Bearer ${apiKey}`);
  const holder = shown && (await table.keys.findUnknown(shown, false, { rpc, signal }));
  return table.authenticate(
    rpc,
    holder,
    { authorization: `Bearer ${apiKey}`, otherKey: null, idempotencyKey: null },
    signal,
  );
}

const { registerAgent, getMe } = AgentService.method;
const { createPost } = PostService.method;
const register = (name: string, idempotencyKey?: string, limits?: RequestLimits) =>
  call(registerAgent, { name }, { ...(idempotencyKey && { idempotencyKey }), ...(limits && { limits }) });
const newName = () => `agent-${randomUUID().slice(0, 8)}`;
const refused = expect.objectContaining({ cause: isFull });
const asBadInput = expect.objectContaining({
  cause: expect.objectContaining({ code: "bad_input", field: "Idempotency-Key" }),
});

describe("while writes are refused", () => {
  it("a repeat gets its stored response, and every other write gets the reason", async () => {
    const { apiKey } = (await register(newName())).message;
    const idempotencyKey = randomUUID();
    const first = await call(createPost, { title: "Before" }, { apiKey, idempotencyKey });
    expect(first.isReplayed).toBe(false);
    refusal = isFull;
    const repeat = () => call(createPost, { title: "Before" }, { apiKey, idempotencyKey });
    expect(await repeat()).toEqual({ message: first.message, isReplayed: true });
    const unused = randomUUID();
    const early = call(createPost, { title: "Before" }, { apiKey, idempotencyKey: unused });
    await expect(early).rejects.toEqual(refused);
    await expect(call(createPost, { title: "Before" }, { apiKey })).rejects.toEqual(refused);
    // The key belongs to another call, whatever the disk is like.
    await expect(call(createPost, { title: "Other" }, { apiKey, idempotencyKey })).rejects.toEqual(asBadInput);
    refusal = undefined;
    expect(await repeat()).toEqual({ message: first.message, isReplayed: true });
    expect((await call(createPost, { title: "Late" }, { apiKey, idempotencyKey: unused })).isReplayed).toBe(false);
  });

  it("a key is known for exactly a day", async () => {
    const { apiKey } = (await register(newName())).message;
    const idempotencyKey = randomUUID();
    const repeat = () => call(createPost, { title: "Once" }, { apiKey, idempotencyKey });
    await repeat();
    refusal = isFull;
    clock.ms += 24 * hour - 1;
    expect((await repeat()).isReplayed).toBe(true);
    clock.ms += 1;
    await expect(repeat()).rejects.toEqual(refused);
  });

  it("an unknown key of a registration counts as a guess at a secret, and a replay does not", async () => {
    const address = "one address";
    const idempotencyKey = randomUUID();
    const name = newName();
    await register(name, idempotencyKey);
    refusal = isFull;
    for (let count = 0; count < 5; count++) await register(name, idempotencyKey, limiter.begin(address));
    for (let count = 0; count < 3; count++) {
      await expect(register(newName(), randomUUID(), limiter.begin(address))).rejects.toEqual(refused);
    }
    await expect(register(name, idempotencyKey, limiter.begin(address))).rejects.toEqual(
      expect.objectContaining({ cause: expect.objectContaining({ code: "rate_limited" }) }),
    );
  });
});

describe("the first use of an API key", () => {
  it("succeeds although the response with the key cannot be erased, which the next use does", async () => {
    const name = newName();
    const idempotencyKey = randomUUID();
    const first = await register(name, idempotencyKey);
    const { apiKey } = first.message;
    refusal = isFull;
    expect(await authenticate(apiKey, getMe)).toMatchObject({ name, apiKey });
    expect(await register(name, idempotencyKey)).toEqual({ message: first.message, isReplayed: true });
    refusal = undefined;
    expect(await register(name, idempotencyKey)).toEqual({ message: first.message, isReplayed: true });
    expect(await authenticate(apiKey, getMe)).toMatchObject({ name, apiKey });
    await expect(register(name, idempotencyKey)).rejects.toEqual(asBadInput);
  });
});
