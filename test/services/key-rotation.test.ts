// Rotation of API keys: which key may what, for how long, and that a lost reply locks nobody out.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { TestClock } from "../ledger/support.ts";
import { startService } from "../support/service.ts";
import { askText } from "./replays.ts";

const clock = new TestClock("2026-05-01T12:00:00Z");

const service = await startService({ overrides: { now: clock.now } });
const replica = await startService({ overrides: { now: clock.now }, db: service.db });

const minutes = (count: number) => {
  clock.ms += count * 60_000;
};
const works = async (key: string) => (await service.rest("agents/me", { key })).status;
const rotate = (key: string, idempotencyKey?: string, body: object = {}, at = service) =>
  askText(at.url, "agents/me/key", {
    key,
    body,
    headers: idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
  });
const newKeyOf = ({ text }: { text: string }) => JSON.parse(text).api_key as string;
const unauthorized = { status: 401, replayed: null };

describe("a rotation", () => {
  it("answers 201 with a new key, and says until when the old one works: 600 seconds by default", async () => {
    const { key, name } = await service.register();
    const { status, text } = await rotate(key);
    expect([status, JSON.parse(text)]).toEqual([
      201,
      {
        ok: true,
        api_key: expect.stringMatching(/^stoa_[A-Za-z0-9_-]{43}$/),
        important: expect.stringContaining("only this once"),
        old_key_expires_at: new Date(clock.ms + 600_000).toISOString(),
      },
    ]);
    const renewed = newKeyOf({ text });
    expect(renewed).not.toBe(key);
    expect((await service.rest("agents/me", { key: renewed })).body.agent.name).toBe(name);
    minutes(9.99);
    expect([await works(key), await works(renewed)]).toEqual([200, 200]);
    minutes(0.01);
    expect([await works(key), await works(renewed)]).toEqual([401, 200]);
  });

  it.each([0, 86_400])("accepts a grace of %s seconds", async (grace_seconds) => {
    const { key } = await service.register();
    const { text } = await rotate(key, undefined, { grace_seconds });
    expect(JSON.parse(text).old_key_expires_at).toBe(new Date(clock.ms + grace_seconds * 1000).toISOString());
    if (grace_seconds > 0) {
      clock.ms += grace_seconds * 1000 - 1;
      expect(await works(key)).toBe(200);
      clock.ms += 1;
    }
    expect(await works(key)).toBe(401);
  });

  it("refuses a grace that is no number of seconds up to a day, and changes nothing", async () => {
    const { key } = await service.register();
    for (const grace_seconds of [-1, 86_401, "600"]) {
      const { status, text } = await rotate(key, undefined, { grace_seconds });
      expect([status, JSON.parse(text)]).toMatchObject([400, { error: "bad_input", field: "grace_seconds" }]);
    }
    expect(await works(key)).toBe(200);
  });

  it("needs the current key; a key in its grace is refused like any bad key", async () => {
    const { key: first } = await service.register();
    const second = newKeyOf(await rotate(first));
    const unknown = await rotate(`stoa_${"x".repeat(43)}`);
    expect(await works(first)).toBe(200);
    for (const idempotencyKey of [undefined, randomUUID(), "short"]) {
      expect(await rotate(first, idempotencyKey)).toEqual({ ...unknown, status: 401 });
    }
    expect(await rotate(first, undefined, { grace_seconds: "bad" })).toMatchObject(unauthorized);
    expect(await works(second)).toBe(200);
  });

  it("leaves at most one old key valid, even twice in a row", async () => {
    const { key: first } = await service.register();
    const second = newKeyOf(await rotate(first, undefined, { grace_seconds: 86_400 }));
    expect(await works(first)).toBe(200);
    const third = newKeyOf(await rotate(second, undefined, { grace_seconds: 60 }));
    expect([await works(first), await works(second), await works(third)]).toEqual([401, 200, 200]);
    minutes(1);
    expect([await works(first), await works(second), await works(third)]).toEqual([401, 401, 200]);
  });

  it("succeeds once when one key makes it twenty times at once through two replicas", async () => {
    const { key } = await service.register();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => rotate(key, randomUUID(), {}, i % 2 === 0 ? service : replica)),
    );
    const [won, ...more] = replies.filter(({ status }) => status === 201);
    expect(more).toEqual([]);
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(19);
    expect([await works(key), await works(newKeyOf(won as never))]).toEqual([200, 200]);
  });

  it("returns the same new key twenty times at once through two replicas under one idempotency key", async () => {
    const { key } = await service.register();
    const idempotencyKey = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => rotate(key, idempotencyKey, {}, i % 2 === 0 ? service : replica)),
    );
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies.filter(({ replayed }) => replayed === null)).toHaveLength(1);
    expect(await works(newKeyOf(replies[0] as never))).toBe(200);
  });
});

describe("the stored response of a rotation", () => {
  it.each([0, 86_400])("can be fetched with the old key for ten minutes (grace: %i s)", async (grace_seconds) => {
    const { key } = await service.register();
    const idempotencyKey = randomUUID();
    const first = await rotate(key, idempotencyKey, { grace_seconds });
    minutes(9.99);
    expect(await rotate(key, idempotencyKey, { grace_seconds }, replica)).toEqual({ ...first, replayed: "true" });
    const headers = { authorization: `Bearer ${key}`, "idempotency-key": idempotencyKey };
    const request = { graceSeconds: BigInt(grace_seconds) };
    const reply = await replica.connect(AgentService, "grpc").rotateKey(request, { headers });
    expect(reply.apiKey).toBe(newKeyOf(first));
    minutes(0.01);
    expect(await rotate(key, idempotencyKey, { grace_seconds })).toMatchObject(unauthorized);
    // What was not fetched in time is lost; the key that nobody got is not the old one's to replace.
    expect(await works(key)).toBe(grace_seconds > 600 ? 200 : 401);
  });

  it("is all that a key after its grace can fetch, only with the same idempotency key and content", async () => {
    const { key } = await service.register();
    const idempotencyKey = randomUUID();
    await rotate(key, idempotencyKey, { grace_seconds: 0 });
    await service.rest("posts", { key, body: { title: "No" }, headers: { "idempotency-key": idempotencyKey } });
    expect(await works(key)).toBe(401);
    expect(await rotate(key, randomUUID(), { grace_seconds: 0 })).toMatchObject(unauthorized);
    expect(await rotate(key, undefined, { grace_seconds: 0 })).toMatchObject(unauthorized);
    const otherContent = await rotate(key, idempotencyKey, { grace_seconds: 1 });
    expect([otherContent.status, JSON.parse(otherContent.text).field]).toEqual([400, "Idempotency-Key"]);
  });

  it("cannot be fetched by an old key with the idempotency key of another call", async () => {
    const { key } = await service.register();
    const idempotencyKey = randomUUID();
    const headers = { "idempotency-key": idempotencyKey };
    expect((await service.rest("posts", { key, body: { title: "A post" }, headers })).status).toBe(201);
    await rotate(key);
    expect(await rotate(key, idempotencyKey)).toMatchObject(unauthorized);
  });

  it("is gone after the new key is used: the old key gets an error that says so, and the new key works", async () => {
    const { key } = await service.register();
    const idempotencyKey = randomUUID();
    const renewed = newKeyOf(await rotate(key, idempotencyKey));
    expect(await works(renewed)).toBe(200);
    for (const asked of [key, renewed]) {
      const { status, text } = await rotate(asked, idempotencyKey);
      expect([status, JSON.parse(text)]).toMatchObject([400, { error: "bad_input", field: "Idempotency-Key" }]);
    }
    expect([await works(key), await works(renewed)]).toEqual([200, 200]);
  });

  it("cannot be decrypted with the idempotency key alone: it needs the old API key", async () => {
    const { key, name } = await service.register();
    const idempotencyKey = randomUUID();
    await rotate(key, idempotencyKey);
    // As if somebody with a copy of the database had a key of their own put in the old one's place.
    const { key: foreign } = await service.register();
    const [{ key_hash }] = (await service.db.rows("SELECT key_hash FROM agents ORDER BY id DESC LIMIT 1")) as [
      { key_hash: Buffer },
    ];
    await service.db.rows("DELETE FROM agents ORDER BY id DESC LIMIT 1");
    await service.db.rows("UPDATE agents SET previous_key_hash = ? WHERE name = ?", [key_hash, name]);
    const { status, text } = await rotate(foreign, idempotencyKey);
    expect([status, JSON.parse(text).error]).toEqual([400, "bad_input"]);
  });
});
