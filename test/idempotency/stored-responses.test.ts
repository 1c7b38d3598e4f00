// How long replies are kept, and what of them: the keys that they guard, the day, the hour, the first use of an API key.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Board } from "../../src/board/board.ts";
import { sweepResponses } from "../../src/idempotency/response-sweep.ts";
import { TestClock } from "../ledger/support.ts";
import { askText } from "../services/replays.ts";
import { openStore } from "../support/database.ts";
import { rowCounts } from "../support/recount.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const start = Date.parse("2026-05-01T12:00:00Z");
const hour = 3_600_000;
const clock = new TestClock("2026-05-01T12:00:00Z");
const never = new AbortController().signal;

const service = await startService({ overrides: { now: clock.now, sweeps: true } });
const agent = await service.register();

const ask = (path: string, body: unknown, idempotencyKey: string, key?: string) =>
  askText(service.url, path, { body, key, headers: { "idempotency-key": idempotencyKey } });
const post = (title: string, idempotencyKey: string) => ask("posts", { title }, idempotencyKey, agent.key);
const keptRows = async () =>
  (await service.db.rows<{ n: number }>("SELECT COUNT(*) AS n FROM idempotency_replies"))[0]?.n as number;
const newName = () => `agent-${randomUUID().slice(0, 8)}`;

/** Every value of every table, as one blob to look for secrets in. */
async function everythingStored(): Promise<Buffer> {
  const tables = await service.db.rows<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
  );
  const parts: Buffer[] = [];
  for (const { name } of tables) {
    for (const row of await service.db.rows<Record<string, unknown>>(`SELECT * FROM ${name}`)) {
      for (const value of Object.values(row)) parts.push(Buffer.isBuffer(value) ? value : Buffer.from(String(value)));
    }
  }
  expect(tables.length).toBeGreaterThan(8);
  return Buffer.concat(parts);
}

/** The forms in which somebody might have written a secret down. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret.replace(/^stoa_/, ""));
  const raw = Buffer.from(secret.replace(/^stoa_/, ""), "base64url");
  return [
    bytes,
    raw,
    ...[bytes, raw].flatMap((each) => [each.toString("hex"), each.toString("base64")].map((text) => Buffer.from(text))),
  ];
}

const refusedAsGone = (reply: { status: number; text: string }) => {
  expect([reply.status, JSON.parse(reply.text)]).toEqual([
    400,
    { ok: false, error: "bad_input", field: "Idempotency-Key", message: expect.stringContaining("erased") },
  ]);
};

describe("a reply that holds an API key", () => {
  it("is stored so that neither the database nor the log gives away the API key or the idempotency key", async () => {
    const keys = { registration: randomUUID(), rotation: `rotate-${randomUUID()}`, post: `post-${randomUUID()}` };
    const registered = JSON.parse((await ask("agents/register", { name: newName() }, keys.registration)).text);
    const rotated = JSON.parse((await ask("agents/me/key", {}, keys.rotation, registered.api_key)).text);
    await post("A post", keys.post);
    const stored = await everythingStored();
    const logged = Buffer.from(JSON.stringify(service.log));
    for (const secret of [...Object.values(keys), registered.api_key, rotated.api_key]) {
      for (const form of formsOf(secret)) {
        expect([secret, stored.includes(form), logged.includes(form)]).toEqual([secret, false, false]);
      }
    }
    // The same search finds what is stored in the open.
    expect(stored.includes("A post")).toBe(true);
    expect(stored.includes(registered.agent.name)).toBe(true);
  });

  it("is erased at the first use of that key, and a repeat gets an error without a second registration", async () => {
    const key = randomUUID();
    const body = { name: newName() };
    const first = await ask("agents/register", body, key);
    expect(await ask("agents/register", body, key)).toEqual({ ...first, replayed: "true" });
    const { api_key } = JSON.parse(first.text);
    expect((await service.rest("agents/me", { key: api_key })).status).toBe(200);
    const before = await rowCounts(service.db);
    for (let i = 0; i < 2; i++) refusedAsGone(await ask("agents/register", body, key));
    expect(await rowCounts(service.db)).toEqual(before);
    const [left] = await service.db.rows("SELECT key_reply FROM agents WHERE name = ?", [body.name]);
    expect(left).toEqual({ key_reply: null });
  });

  it("goes also when that use is refused for something else, or comes twenty times at once", async () => {
    const key = randomUUID();
    const body = { name: newName() };
    const { api_key } = JSON.parse((await ask("agents/register", body, key)).text);
    const uses = await Promise.all(
      Array.from({ length: 20 }, () => service.rest("posts", { key: api_key, body: { title: "" } })),
    );
    expect(new Set(uses.map(({ status }) => status))).toEqual(new Set([400]));
    refusedAsGone(await ask("agents/register", body, key));
  });

  it("stays while its key is only shown to calls that do not look at it", async () => {
    const key = randomUUID();
    const body = { name: newName() };
    const first = await ask("agents/register", body, key);
    await service.rest("feed", { key: JSON.parse(first.text).api_key });
    expect(await ask("agents/register", body, key)).toEqual({ ...first, replayed: "true" });
  });

  it("goes after an hour, swept or not", async () => {
    const [swept, not] = [randomUUID(), randomUUID()];
    const body = { name: newName() };
    const late = { name: newName() };
    clock.ms = start + 1;
    const first = await ask("agents/register", body, swept);
    await ask("agents/register", late, not);
    clock.ms = start + hour;
    expect(await ask("agents/register", body, swept)).toEqual({ ...first, replayed: "true" });
    clock.ms = start + hour + 1;
    refusedAsGone(await ask("agents/register", late, not));
    // The service's own sweep, by its clock.
    await waitUntil("the sweep", async () => {
      const rows = await service.db.rows("SELECT 1 FROM idempotency_replies WHERE sealed AND reply IS NOT NULL");
      return rows.length === 0;
    });
    refusedAsGone(await ask("agents/register", body, swept));
    // The key itself goes on working.
    expect((await service.rest("agents/me", { key: JSON.parse(first.text).api_key })).status).toBe(200);
  });
});

describe("a reply", () => {
  it("is kept for 24 hours, and its key is a new one then, swept or not", async () => {
    const key = randomUUID();
    clock.ms = start + 2 * hour;
    const first = await post("Kept", key);
    clock.ms = start + 26 * hour - 1;
    expect(await post("Kept", key)).toEqual({ ...first, replayed: "true" });
    clock.ms = start + 26 * hour;
    const second = await post("Another", key);
    expect([second.status, second.replayed]).toEqual([201, null]);
    clock.ms = start + 50 * hour - 1;
    expect(await post("Another", key)).toEqual({ ...second, replayed: "true" });
  });

  it("that is past its day is taken over by one of many calls at once", async () => {
    const key = randomUUID();
    await post("Old", key);
    clock.ms += 25 * hour;
    const replies = await Promise.all(Array.from({ length: 10 }, () => post("New", key)));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(replies.filter(({ replayed }) => replayed === null)).toHaveLength(1);
  });

  it("is swept after its day, in batches, by any number of replicas at once", async () => {
    const db = openStore(service.db, 8);
    const board = new Board(db, clock.now);
    clock.ms += 25 * hour;
    await sweepResponses(board, never);
    await waitUntil("the last batch", async () => (await keptRows()) === 0);
    const row = (n: number) => [
      Buffer.from(String(n).padStart(32, "0")),
      Buffer.alloc(32),
      Buffer.from("x"),
      0,
      clock.ms,
      clock.ms + 24 * hour,
    ];
    for (let n = 0; n < 1000; n += 500) {
      const rows = Array.from({ length: 500 }, (_, i) => row(n + i));
      await service.db.pool.query(
        "INSERT INTO idempotency_replies (id, fingerprint, reply, sealed, created_at, due_at) VALUES ?",
        [rows],
      );
    }
    clock.ms += 24 * hour - 1;
    await Promise.all(Array.from({ length: 3 }, () => sweepResponses(board, never)));
    expect(await keptRows()).toBe(1000);
    const key = randomUUID();
    await post("Younger", key);
    clock.ms += 1;
    await Promise.all(Array.from({ length: 3 }, () => sweepResponses(board, never)));
    // The service's own sweep may still hold some.
    await waitUntil("the last batch", async () => (await keptRows()) <= 1);
    expect(await post("Younger", key)).toMatchObject({ replayed: "true" });
  });
});
