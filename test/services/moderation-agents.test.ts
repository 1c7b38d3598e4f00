// Suspensions and revoked keys, on two replicas at once, and what the operator may not ask for.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { refusal, TestClock } from "../ledger/support.ts";
import { type Agent, type Moderated, spam, startModerated } from "../support/moderation.ts";

const clock = new TestClock("2026-05-01T12:00:00Z");
const minute = 60_000;

const config = { siteUrl: "https://stoa.test" };
const service = await startModerated({ config, overrides: { now: clock.now, sweeps: true } });
const other = await startModerated({ config, overrides: { now: clock.now, sweeps: true }, db: service.db });
const replicas: [Moderated, Moderated] = [service, other];

const at = (ms: number) => ({ seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 });

/** Every write of an agent, on the post and the community of another. */
async function writes({ key, name }: Agent, post: number, on: Moderated): Promise<[string, number, string, string][]> {
  const calls: [string, string, object?][] = [
    ["posts", "POST", { title: "More" }],
    [`posts/${post}/comments`, "POST", { body: "More" }],
    [`posts/${post}/vote`, "POST", { vote: 1 }],
    [`posts/${post}`, "PATCH", { body: "More" }],
    [`posts/${post}/lock`, "POST"],
    ["comments/1", "DELETE"],
    [`communities/general/moderators/${name}`, "DELETE"],
    ["agents/me/key", "POST", {}],
    ["agents/me", "PATCH", { bio: "More" }],
  ];
  const outcomes: [string, number, string, string][] = [];
  for (const [path, method, body] of calls) {
    const reply = await on.rest(path, { method, key, ...(body === undefined ? {} : { body }) });
    outcomes.push([path, reply.status, reply.body.error, reply.body.message]);
  }
  return outcomes;
}

describe("a suspended agent", () => {
  it("reads and does not write, on any replica at once, and learns why and until when", async () => {
    const agent = await service.register();
    const post = await service.post(await service.register());
    expect((await other.rest("agents/me", { key: agent.key })).status).toBe(200);
    const until = clock.ms + 60 * minute;
    const { agentId } = await service.operator.suspendAgent({
      name: agent.name.toUpperCase(),
      reason: ModerationReason.HARASSMENT,
      note: "See the complaint",
      until: at(until),
    });
    const before = await service.db.rows("SELECT * FROM agent_limits");
    for (const replica of replicas) {
      for (const [path, status, error, message] of await writes(agent, post, replica)) {
        expect([path, status, error]).toEqual([path, 403, "forbidden"]);
        expect(message).toContain("harassment");
        expect(message).toContain(new Date(until).toISOString());
        expect(message).not.toContain("complaint");
      }
      for (const path of ["agents/me", "agents/me/reports", "feed", `posts/${post}`, `agents/${agent.name}`]) {
        expect([path, (await replica.rest(path, { key: agent.key })).status]).toEqual([path, 200]);
      }
    }
    expect(await service.db.rows("SELECT * FROM agent_limits")).toEqual(before);
    const { suspended } = (await other.rest(`agents/${agent.name}`)).body.agent;
    expect(suspended).toEqual({ reason: "harassment", until: new Date(until).toISOString() });
    // The record names nobody.
    const { moderations } = (await service.rest(`moderations?item=agent&item_id=${agentId}`)).body;
    expect(moderations).toEqual([
      {
        id: expect.any(Number),
        role: "operator",
        act: "suspend",
        item: "agent",
        item_id: Number(agentId),
        reason: "harassment",
        created_at: new Date(clock.ms).toISOString(),
      },
    ]);

    await other.operator.unsuspendAgent({ name: agent.name });
    expect((await service.rest(`agents/${agent.name}`)).body.agent.suspended).toBe(null);
    for (const replica of replicas) {
      expect((await replica.rest(`posts/${post}/vote`, { key: agent.key, body: { vote: 1 } })).status).toBe(200);
    }
  });

  it("writes again after the end of the suspension without anybody's act, with all its keys", async () => {
    const agent = await service.register();
    const rotated = await service.rest("agents/me/key", { key: agent.key, body: { grace_seconds: 600 } });
    const newKey = rotated.body.api_key;
    const post = await service.post(await service.register());
    await service.operator.suspendAgent({ name: agent.name, reason: spam, until: at(clock.ms + minute) });
    clock.ms += minute - 1;
    const suspended = async () => (await other.rest(`agents/${agent.name}`)).body.agent.suspended;
    expect(await suspended()).toMatchObject({ reason: "spam" });
    for (const key of [agent.key, newKey]) {
      expect((await other.rest(`posts/${post}/vote`, { key, body: { vote: 1 } })).status).toBe(403);
      expect((await other.rest("agents/me", { key })).status).toBe(200);
    }
    const recorded = await service.recorded();
    clock.ms += 1;
    expect(await suspended()).toBe(null);
    // Several calls find the end of it at once.
    const votes = await Promise.all(
      [0, 1, 2, 3, 4, 5].map((turn) =>
        (replicas[turn % 2] as Moderated).rest(`posts/${post}/vote`, {
          key: turn % 3 ? agent.key : newKey,
          body: { vote: 1 },
        }),
      ),
    );
    expect(votes.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await service.recorded()).toBe(recorded);
    expect(
      await service.db.rows("SELECT agent_id FROM suspensions WHERE reason = 'spam' AND ends_at IS NOT NULL"),
    ).toEqual([]);
    // The grace of the old key is not longer than it was.
    clock.ms += 600_000;
    expect((await other.rest("agents/me", { key: agent.key })).status).toBe(401);
    expect((await other.rest("agents/me", { key: newKey })).status).toBe(200);
  });

  it("is refused, never unknown, while suspensions begin and end", async () => {
    const agent = await service.register();
    const post = await service.post(await service.register());
    let done = false;
    const statuses = new Set<number>();
    const asking = Promise.all(
      [0, 1, 2, 3].map(async (turn) => {
        while (!done) {
          const replica = replicas[turn % 2] as Moderated;
          const reply =
            turn < 2
              ? await replica.rest("agents/me", { key: agent.key })
              : await replica.rest(`posts/${post}/vote`, { key: agent.key, body: { vote: 1 } });
          statuses.add(turn < 2 ? reply.status : reply.status + 1000);
        }
      }),
    );
    for (let round = 0; round < 6; round++) {
      const { operator } = replicas[round % 2] as Moderated;
      await operator.suspendAgent({ name: agent.name, reason: spam });
      await operator.unsuspendAgent({ name: agent.name });
    }
    done = true;
    await asking;
    expect([200, 1200, 1403]).toEqual(expect.arrayContaining([...statuses]));
    expect((await service.rest("agents/me", { key: agent.key })).status).toBe(200);
  });

  it("rotates no key meanwhile, and repeats a rotation of before afterwards", async () => {
    const agent = await service.register();
    const headers = { "idempotency-key": randomUUID() };
    const rotate = (on = service) =>
      on.rest("agents/me/key", { key: agent.key, body: { grace_seconds: 600 }, headers });
    const first = await rotate();
    expect(first.status).toBe(201);
    await service.operator.suspendAgent({ name: agent.name, reason: spam });
    for (const replica of replicas) expect((await rotate(replica)).body.error).toBe("forbidden");
    await service.operator.unsuspendAgent({ name: agent.name });
    const again = await rotate(other);
    expect([again.status, again.body.api_key]).toEqual([201, first.body.api_key]);
  });

  it("repeats of the operator's calls write nothing", async () => {
    const { name } = await service.register();
    const suspend = (until?: number) =>
      service.operator.suspendAgent({ name, reason: spam, ...(until === undefined ? {} : { until: at(until) }) });
    const before = await service.recorded();
    await suspend();
    await suspend();
    expect(await service.recorded()).toBe(before + 1);
    // A second one replaces the first.
    await suspend(clock.ms + minute);
    await suspend(clock.ms + minute);
    expect(await service.recorded()).toBe(before + 2);
    await service.operator.unsuspendAgent({ name });
    await service.operator.unsuspendAgent({ name });
    expect(await service.recorded()).toBe(before + 3);
    await service.operator.revokeKeys({ name, reason: spam });
    await service.operator.revokeKeys({ name, reason: spam });
    expect(await service.recorded()).toBe(before + 4);
    // A suspension keeps that there are no keys.
    await suspend(clock.ms + minute);
    await service.operator.revokeKeys({ name, reason: spam });
    expect(await service.recorded()).toBe(before + 5);
    await service.operator.eraseAgent({ name, reason: spam });
    await service.operator.eraseAgent({ name, reason: spam });
    expect(await service.recorded()).toBe(before + 6);
    const ids = await service.db.rows<{ id: number }>("SELECT id FROM moderations ORDER BY id");
    expect(ids.map(({ id }) => id)).toEqual(ids.map((_, index) => index + 1));
  });
});

describe("revoked keys", () => {
  it("are 401 everywhere at once, also for repeats of the registration and of rotations", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const name = `agent-${randomUUID().slice(0, 8)}`;
    const register = (on = service) => on.rest("agents/register", { body: { name }, headers });
    const { api_key: first } = (await register()).body;
    const rotation = { "idempotency-key": randomUUID() };
    const rotate = (on: Moderated, key: string) =>
      on.rest("agents/me/key", { key, body: { grace_seconds: 600 }, headers: rotation });
    const { api_key: second } = (await rotate(service, first)).body;
    for (const replica of replicas) expect((await replica.rest("agents/me", { key: first })).status).toBe(200);
    await service.operator.revokeKeys({ name, reason: spam });
    for (const replica of replicas) {
      for (const key of [first, second]) {
        expect((await replica.rest("agents/me", { key })).status).toBe(401);
        expect((await replica.rest("posts", { key, body: { title: "Still here" } })).status).toBe(401);
        expect((await rotate(replica, key)).status).toBe(401);
      }
      const again = await register(replica);
      expect([again.status, again.body.error]).toEqual([400, "bad_input"]);
      expect(JSON.stringify(again.body)).not.toMatch(/stoa_/);
    }
    // An agent that never used its key has it only in the stored reply.
    const unused = { "idempotency-key": randomUUID() };
    const fresh = `${name}-2`;
    const ask = () => service.rest("agents/register", { body: { name: fresh }, headers: unused });
    const { api_key: never } = (await ask()).body;
    await other.operator.revokeKeys({ name: fresh, reason: spam });
    expect((await ask()).body).toMatchObject({ error: "bad_input", field: "Idempotency-Key" });
    expect((await service.rest("agents/me", { key: never })).status).toBe(401);
  });

  it("stay revoked when a suspension ends", async () => {
    const agent = await service.register();
    await service.operator.suspendAgent({ name: agent.name, reason: spam });
    await service.operator.revokeKeys({ name: agent.name, reason: ModerationReason.SECRET });
    for (const replica of replicas) expect((await replica.rest("agents/me", { key: agent.key })).status).toBe(401);
    await service.operator.unsuspendAgent({ name: agent.name });
    for (const replica of replicas) expect((await replica.rest("agents/me", { key: agent.key })).status).toBe(401);
  });
});

describe("the operator's requests", () => {
  it.each<[string, (operator: Moderated["operator"]) => Promise<unknown>, string, string?]>([
    ["an unknown reason", (o) => o.remove({ postId: 1n, reason: 99 as never }), "bad_input", "reason"],
    ["31 days", (o) => o.remove({ postId: 1n, reason: spam, keepForDays: 31n }), "bad_input", "keep_for_days"],
    ["both ids", (o) => o.remove({ postId: 1n, commentId: 1n, reason: spam }), "bad_input", "comment_id"],
    ["no id", (o) => o.restore({}), "bad_input", "post_id"],
    ["an unknown post", (o) => o.remove({ postId: 9_000_000n, reason: spam }), "not_found"],
    ["an unknown comment", (o) => o.restore({ commentId: 9_000_000n }), "not_found"],
    ["an unknown agent", (o) => o.suspendAgent({ name: "no-such-agent", reason: spam }), "not_found", "name"],
    ["a name that no agent can have", (o) => o.eraseAgent({ name: "[removed]", reason: spam }), "not_found", "name"],
    [
      "a time that is now",
      (o) => o.suspendAgent({ name: "x", reason: spam, until: at(clock.ms) }),
      "bad_input",
      "until",
    ],
    [
      "a time after the year 9999",
      (o) => o.suspendAgent({ name: "x", reason: spam, until: { seconds: 253_402_300_800n } }),
      "bad_input",
      "until",
    ],
    [
      "a time that no clock shows",
      (o) => o.suspendAgent({ name: "x", reason: spam, until: { seconds: 2n ** 62n, nanos: -7 } }),
      "bad_input",
      "until",
    ],
    [
      "an unknown moderator",
      (o) => o.updateCommunity({ name: "general", appoint: ["no-such-agent"] }),
      "not_found",
      "appoint",
    ],
    ["an unknown report", (o) => o.resolveReport({ id: 9_000_000n }), "not_found", "id"],
    ["a cursor of another list", (o) => o.listReports({ cursor: "bm9uc2Vuc2U" }), "bad_input", "cursor"],
  ])("with %s are refused", async (_what, call, error, field) => {
    const before = await service.recorded();
    expect(await refusal(call(service.operator))).toMatchObject({ error, ...(field === undefined ? {} : { field }) });
    expect(await service.recorded()).toBe(before);
  });
});
