// Registrations whose keys nobody uses lapse after 24 hours, on two replicas at once.
import { randomUUID } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { Board } from "../../src/board/board.ts";
import { endUnusedAgents } from "../../src/board/lives.ts";
import { TestClock } from "../ledger/support.ts";
import { callTool, connect } from "../mcp/support.ts";
import { operate } from "../operator/support.ts";
import { createDatabaseWithSchema, openStore } from "../support/database.ts";
import { beginTestLog, entriesOf } from "../support/log.ts";
import { everythingStored, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { waitUntil } from "../support/wait.ts";

const clock = new TestClock("2026-05-01T12:00:00Z");
const day = 86_400_000;
const { signal } = new AbortController();
/** Longer than the services wait between two sweeps. */
const pass = () => void vi.advanceTimersByTime(5_000);

// The services sweep when a test lets time pass.
vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
const db = await createDatabaseWithSchema();
await beginTestLog(db);
const service = await startModerated({ db, overrides: { now: clock.now, sweeps: true } });
const replica = await startModerated({ db, overrides: { now: clock.now, sweeps: true } });
const board = new Board(openStore(db, 4), clock.now);
board.logBeginsAt = 0;

const newName = () => `Agent-${randomUUID().slice(0, 8)}`;
const register = (name: string, headers: Record<string, string> = {}, on = service) =>
  on.rest("agents/register", { body: { name, bio: "A life in words", resident: 7 }, headers });
const idOf = async (name: string) =>
  (await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [name]))[0]?.id as number;
const stands = async (name: string) => (await service.rest(`agents/${name}`)).status === 200;

describe("a registration whose key is never used", () => {
  it("lapses after 24 hours, and its name is free again", async () => {
    const name = newName();
    const idempotent = { "idempotency-key": randomUUID() };
    const { body } = await register(name, idempotent);
    expect(body.important).toContain("within 24 hours");
    const id = await idOf(name);
    const post = await service.post(await service.register(), { body: `@${name}, are you there?` });
    clock.ms += day - 1;
    await endUnusedAgents(board, signal);
    expect((await register(name)).body).toMatchObject({ error: "name_taken", field: "name" });
    clock.ms += 1;
    // The sweep of the replicas does it, without anybody's call.
    await waitUntil("the end of the registration", async () => {
      pass();
      return !(await stands(name));
    });
    for (const on of [service, replica]) {
      expect((await on.rest("agents/me", { key: body.api_key })).status).toBe(401);
      expect((await on.rest(`agents/${name}`)).status).toBe(404);
    }
    const entries = (await entriesOf(service.db)).filter(
      ({ of, type, ...entry }) => entry.id === id && (of ?? type) === "agent",
    );
    expect(entries).toMatchObject([
      { type: "agent", content: expect.any(String) },
      { type: "deletion", of: "agent", ts: new Date(clock.ms).toISOString() },
    ]);
    expect((await service.rest(`moderations?item=agent&item_id=${id}`)).body.moderations).toEqual([]);

    const again = await register(name.toLowerCase(), idempotent, replica);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, null]);
    expect(again.body.agent).toMatchObject({ name: name.toLowerCase(), karma: 0 });
    expect(await idOf(name.toLowerCase())).not.toBe(id);
    // Who was spoken to is nobody now.
    const items = await service.db.rows("SELECT id FROM inbox_items WHERE post_id = ? AND agent_id = ?", [post, id]);
    await waitUntil("the end of its inbox", async () => {
      pass();
      return items.length === 0 || (await inboxOf(id)) === 0;
    });
    expect((await replica.rest("agents/me", { key: again.body.api_key })).status).toBe(200);
    expect(await recount(service.db)).toEqual([]);
  });

  it("leaves nothing of its words, and nothing for fsck", async () => {
    const name = newName();
    await register(name);
    clock.ms += day;
    await endUnusedAgents(board, signal);
    await waitUntil("the end of what is recorded", async () => {
      clock.ms += 60_000;
      pass();
      return (await service.db.rows("SELECT item FROM unfinished_removals")).length === 0;
    });
    expect(await everythingStored(service)).not.toContain(name);
    const { out } = await operate(service.db.config, ["fsck"]);
    expect(out.filter((line) => line.includes("agent"))).toEqual([]);
    await service.db.rows('DELETE FROM log_outbox WHERE entry LIKE \'%"of":"agent"%\'');
    const untold = (await operate(service.db.config, ["fsck"])).out;
    expect(untold.join("\n")).toMatch(/agents id \d+: the log does not tell of its deletion/);
  });

  it("lapses also if the operator has revoked the key", async () => {
    const name = newName();
    await register(name);
    await service.operator.revokeKeys({ name, reason: spam });
    clock.ms += day;
    await endUnusedAgents(board, signal);
    expect((await register(name)).status).toBe(201);
  });

  it("ends the subscriptions to it when their agents next change theirs", async () => {
    const follower = await service.register();
    const change = (path: string, method = "PUT") =>
      service.rest(`subscriptions/${path}`, { key: follower.key, method });
    const listed = async () =>
      (await service.rest("subscriptions", { key: follower.key })).body.subscriptions.map(
        ({ target }: { target: string }) => target,
      );
    for (const method of ["PUT", "DELETE"]) {
      const name = newName();
      await register(name);
      expect((await change(`agents/${name}`)).status).toBe(200);
      clock.ms += day;
      await endUnusedAgents(board, signal);
      // Its name is somebody else's now.
      await service.register(name);
      expect(await listed()).toContain("[removed]");
      const left = method === "PUT" ? ["general"] : [];
      expect((await change("communities/general", method)).body.subscriptions).toBe(left.length);
      expect(await listed()).toEqual(left);
    }
  });
});

const inboxOf = async (id: number) =>
  (await service.db.rows("SELECT id FROM inbox_items WHERE agent_id = ?", [id])).length;

describe("a registration stands", () => {
  const uses: [string, (key: string) => Promise<unknown>, after?: number][] = [
    ["a read", (key) => replica.rest("agents/me", { key })],
    ["a write that is refused", (key) => replica.rest("posts", { key, body: { title: "" } })],
    [
      "a read by gRPC",
      (key) => service.connect(AgentService, "grpc").getMe({}, { headers: { authorization: `Bearer ${key}` } }),
    ],
    ["a tool", async (key) => callTool(await connect(service, key), "get_home")],
    ["a list of tools", async (key) => (await connect(service, key)).listTools()],
    ["a public read, while this replica knows the key", (key) => service.rest("feed", { key }), 1],
    ["a public read of another replica", (key) => replica.rest("feed", { key })],
  ];
  it.each(uses)("once its key is used for %s", async (_what, use, after = day - 1) => {
    const name = newName();
    const { body } = await register(name);
    clock.ms += after;
    await use(body.api_key);
    const lapsesAt = "SELECT lapses_at FROM agents WHERE name = ?";
    await waitUntil("the use is recorded", async () => {
      const [row] = await service.db.rows<{ lapses_at: number | null }>(lapsesAt, [name]);
      return row?.lapses_at === null;
    });
    clock.ms += day;
    await endUnusedAgents(board, signal);
    expect(await stands(name)).toBe(true);
  });

  it("if a version from before has registered it", async () => {
    const [name, nameKey] = ["From-before", "from-before"];
    await service.db.rows(
      `INSERT INTO agents (name, name_key, resident, bio, key_hash, key_reply, created_at, salt)
       VALUES (?, ?, NULL, '', ?, NULL, ?, NULL)`,
      [name, nameKey, Buffer.alloc(32, 7), clock.ms],
    );
    clock.ms += 30 * day;
    await endUnusedAgents(board, signal);
    expect(await stands(name)).toBe(true);
  });

  const traces: [string, (agent: { name: string; key: string }) => Promise<unknown>][] = [
    ["has written", (agent) => service.post(agent)],
    ["has founded a community", (agent) => service.found(agent, `place-${randomUUID().slice(0, 8)}`)],
    ["has rotated its key", ({ key }) => service.rest("agents/me/key", { key, body: { grace_seconds: 0 } })],
    ["was suspended", ({ name }) => service.operator.suspendAgent({ name, reason: spam })],
    ["was appointed", ({ name }) => service.operator.updateCommunity({ name: "general", appoint: [name] })],
  ]; // biome-ignore format: one list
  it.each(traces)("if the agent %s, although no use of the key is recorded", async (_what, leave) => {
    const name = newName();
    const { body } = await register(name);
    await leave({ name, key: body.api_key });
    // What a version from before leaves.
    await service.db.rows("UPDATE agents SET lapses_at = ? WHERE name = ?", [clock.ms + 1, name]);
    clock.ms += day;
    await endUnusedAgents(board, signal);
    expect(await stands(name)).toBe(true);
  });
});

describe("the first use of a key at the moment when its registration lapses", () => {
  it("is good and keeps the name, or is 401 and the name is free", async () => {
    for (let round = 0; round < 6; round++) {
      const name = newName();
      const { body } = await register(name);
      clock.ms += day;
      const uses = [service, replica].flatMap((on) => [
        on.rest("agents/me", { key: body.api_key }),
        on.rest("posts", { key: body.api_key, body: { title: "A first post" } }),
      ]);
      const [, ...replies] = await Promise.all([endUnusedAgents(board, signal), ...uses]);
      const hasLapsed = !(await stands(name));
      const writes = replies.filter((_, index) => index % 2 === 1).map(({ status }) => status);
      for (const status of writes) expect([201, 401]).toContain(status);
      const works = (await service.rest("agents/me", { key: body.api_key })).status;
      expect([name, works]).toEqual([name, hasLapsed ? 401 : 200]);
      const posts = await service.db.rows(
        "SELECT p.id FROM posts p JOIN agents a ON a.id = p.author_id WHERE a.name = ?", [name]);
      expect([name, posts.length]).toEqual([name, hasLapsed ? 0 : 2]);
      expect((await register(name)).status).toBe(hasLapsed ? 201 : 409);
    }
    expect(await recount(service.db)).toEqual([]);
  }); // biome-ignore format: one statement

  it("is 401 where it waited for the lapse", async () => {
    const name = newName();
    const { body } = await register(name);
    clock.ms += day - 1;
    const connection = await service.db.pool.getConnection();
    await connection.beginTransaction();
    await connection.query("SELECT id FROM agents WHERE name = ? FOR UPDATE", [name]);
    const write = service.rest("posts", { key: body.api_key, body: { title: "A first post" } });
    await waitUntil("the use that waits", async () => {
      // Other test files use the same server.
      const running = await service.db.rows<{ db: string | null; Info: string | null }>("SHOW FULL PROCESSLIST");
      const ours = running.filter(({ db }) => db === service.db.config.database);
      return ours.some(({ Info }) => /UPDATE agents SET lapses_at/.test(Info ?? ""));
    });
    await connection.query("UPDATE agents SET name = '[removed]', suspended = 1, lapses_at = NULL WHERE name = ?", [
      name,
    ]);
    await connection.commit();
    connection.release();
    expect((await write).status).toBe(401);
  });
});
