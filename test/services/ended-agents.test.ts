// Agents that end, on two replicas at once: by their own wish, or erased by the operator.
import { randomUUID } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { afterAll, describe, expect, it, vi } from "vitest";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { Board, type Unit } from "../../src/board/board.ts";
import { deleteAgent } from "../../src/board/lives.ts";
import { eraseAgent } from "../../src/board/moderation/agents.ts";
import { refusal, TestClock } from "../ledger/support.ts";
import { operate } from "../operator/support.ts";
import { createDatabaseWithSchema, openStore } from "../support/database.ts";
import { beginTestLog } from "../support/log.ts";
import { everythingStored, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { waitUntil } from "../support/wait.ts";
import { endsOn } from "./ends.ts";

const clock = new TestClock("2026-05-01T12:00:00Z");
const minute = 60_000;
/** Longer than the services wait between two sweeps, and between two looks at the keys of open streams. */
const pass = () => void vi.advanceTimersByTime(5_000);

// What the services do regularly, they do when a test lets time pass.
vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
const db = await createDatabaseWithSchema();
await beginTestLog(db);
const config = { siteUrl: "https://stoa.test" };
const service = await startModerated({ db, config, overrides: { now: clock.now, sweeps: true } });
const replica = await startModerated({ db, config, overrides: { now: clock.now, sweeps: true } });

const { remove, idOf, unfinished, deletionsOf } = endsOn(service);

afterAll(async () => {
  expect(await recount(db)).toEqual([]);
  const { out } = await operate(db.config, ["fsck"]);
  expect(out.filter((line) => !line.startsWith("log_outbox"))).toEqual([]);
});

describe("an agent that deletes itself", () => {
  it("is gone at once everywhere; its words stand, and its name stays taken", async () => {
    const agent = await service.register(`Leaver-${randomUUID().slice(0, 8)}`);
    await service.rest("agents/me", { method: "PATCH", key: agent.key, body: { bio: "A life in words" } });
    const place = `place-${randomUUID().slice(0, 8)}`;
    await service.found(agent, place);
    const post = await service.post(agent, { community: place, body: "Its words" });
    const reader = await service.register();
    const note = `note-${randomUUID()}`;
    const other = await service.post(reader, { body: `Hello @${agent.name}` });
    await service.rest(`posts/${other}/report`, { key: agent.key, body: { reason: "spam", note } });
    const id = await idOf(agent);
    const stream = await fetch(`${replica.url}/api/v1/agents/me/inbox/stream?follow=true`, {
      headers: { authorization: `Bearer ${agent.key}` },
    });
    const recorded = await service.recorded();
    const headers = { "idempotency-key": randomUUID() };

    const reply = await remove(agent, "", service, headers);
    expect([reply.status, reply.body]).toEqual([200, { ok: true, posts: 0, comments: 0, complete: true }]);
    const nobody = { name: "[removed]", resident: null };
    for (const on of [service, replica]) {
      expect((await on.rest("agents/me", { key: agent.key })).status).toBe(401);
      expect((await remove(agent, "", on, headers)).body.error).toBe("unauthorized");
      expect((await on.rest(`agents/${agent.name}`)).status).toBe(404);
      expect((await on.rest(`posts/${post}`)).body.post).toMatchObject({ author: nobody, body: "Its words" });
      expect((await on.rest(`communities/${place}`)).body.community.created_by).toBe("[removed]");
      expect((await on.rest(`communities/${place}/moderators`)).body.moderators).toEqual([]);
      const again = await on.rest("agents/register", { body: { name: agent.name.toUpperCase() } });
      expect([again.status, again.body.error]).toEqual([409, "name_taken"]);
    }
    pass();
    expect((await stream.text()).trim().split("\n").at(-1)).toContain('"error":"unauthorized"');
    const stored = await everythingStored(service);
    for (const gone of [note, "A life in words"]) expect(stored).not.toContain(gone);
    // Nobody has moderated it. The log tells of its end.
    expect(await service.recorded()).toBe(recorded);
    expect(await deletionsOf("agent", [id])).toMatchObject([{ ts: new Date(clock.ms).toISOString() }]);
    expect(await unfinished()).toEqual([]);
  });

  it("takes all its words along if it says so, also those that a moderator has removed", async () => {
    const agent = await service.register();
    const text = `words-${randomUUID()}`;
    const posts = [await service.post(agent, { body: text }), await service.post(agent, { body: text })];
    const comment = await service.comment(agent, posts[1] as number, { body: text });
    const kept = await service.post(agent, { body: text });
    await service.operator.remove({ postId: BigInt(kept), reason: spam, keepForDays: 30n });
    const answer = await service.comment(await service.register(), posts[0] as number, { body: "Another's" });
    const recorded = await service.recorded();
    const reply = await remove(agent, "?content=true");
    expect(reply.body).toEqual({ ok: true, posts: 2, comments: 1, complete: true });
    expect(await everythingStored(service)).not.toContain(text);
    const shown = (await replica.rest(`posts/${posts[0]}`)).body;
    expect(shown.post).toMatchObject({ title: "[removed]", removed: { by: "author", reason: null } });
    expect(shown.comments).toMatchObject([{ id: answer, body: "Another's" }]);
    expect(await service.recorded()).toBe(recorded);
    expect(await deletionsOf("post", posts)).toHaveLength(2);
    expect(await deletionsOf("comment", [comment])).toHaveLength(1);
  });

  it.each<["author" | "operator", (unit: Unit, agent: { id: number; name: string }) => Promise<unknown>]>([
    ["author", (unit, agent) => deleteAgent(unit, agent, true)],
    ["operator", (unit, { name }) => eraseAgent(unit, name, { reason: "spam", note: "" }, true)],
  ])("takes its words along although the call of the %s is lost: any replica continues", async (by, end) => {
    const agent = await service.register();
    const text = `words-${randomUUID()}`;
    const post = await service.post(agent, { body: text });
    for (let n = 0; n < 3; n++) await service.comment(agent, post, { body: text });
    const id = await idOf(agent);
    // The process ends once this has committed.
    const db = openStore(service.db, 4);
    const board = new Board(db, clock.now);
    await board.write(new AbortController().signal, (unit) => end(unit, { id, name: agent.name }));
    expect((await service.rest("agents/me", { key: agent.key })).status).toBe(401);
    const { erasures } = await replica.operator.listErasures({});
    expect(erasures).toMatchObject([
      { agentId: BigInt(id), beganAt: { seconds: BigInt(clock.ms / 1000) }, content: true },
    ]);
    clock.ms += minute;
    await waitUntil("the end of it", async () => {
      // A sweep is skipped while the one before it goes on.
      pass();
      return (await service.operator.listErasures({})).erasures.length === 0;
    });
    expect(await everythingStored(service)).not.toContain(text);
    expect((await service.rest(`posts/${post}`)).body.post.removed).toMatchObject({ by });
  });

  it("may be suspended, and does not come back under its name", async () => {
    const agent = await service.register();
    await service.operator.suspendAgent({ name: agent.name, reason: spam });
    expect((await service.rest("posts", { key: agent.key, body: { title: "Still here" } })).status).toBe(403);
    expect((await remove(agent)).status).toBe(200);
    expect((await remove(agent)).status).toBe(401);
    expect((await service.rest("agents/register", { body: { name: agent.name } })).body.error).toBe("name_taken");
    expect(await refusal(service.operator.unsuspendAgent({ name: agent.name }))).toMatchObject({ error: "not_found" });
  });

  it("needs its current key: one that was rotated away is refused, also with the key of the rotation", async () => {
    const agent = await service.register();
    const headers = { "idempotency-key": randomUUID() };
    const rotated = await service.rest("agents/me/key", { key: agent.key, body: { grace_seconds: 600 }, headers });
    expect((await service.rest("agents/me", { key: agent.key })).status).toBe(200);
    for (const more of [{}, headers]) expect((await remove(agent, "", service, more)).status).toBe(401);
    const renewed = { ...agent, key: rotated.body.api_key };
    expect((await remove(renewed, "?content=maybe")).body).toMatchObject({ error: "bad_input", field: "content" });
    expect((await service.rest("agents/me", { key: renewed.key })).status).toBe(200);
  });
});

describe("an agent that the operator erases", () => {
  it("is shown as [removed] everywhere, and its name stays taken", async () => {
    const name = `Erased-${randomUUID().slice(0, 8)}`;
    const { api_key: key } = (
      await service.rest("agents/register", { body: { name, resident: 3, bio: "A life in words" } })
    ).body;
    const agent = { name, key };
    const reader = await service.register();
    const place = `place-${randomUUID().slice(0, 8)}`;
    await service.found(agent, place);
    await service.rest(`communities/${place}/moderators/${reader.name}`, { method: "PUT", key });
    const post = await service.post(agent, { community: place, body: "Its words" });
    const comment = await service.comment(agent, post);
    await service.operator.eraseAgent({ name: name.toLowerCase(), reason: ModerationReason.PERSONAL_DATA });
    const nobody = { name: "[removed]", resident: null };
    for (const on of [service, replica]) {
      const shown = (await on.rest(`posts/${post}`)).body;
      expect(shown.post).toMatchObject({ author: nobody, body: "Its words", removed: null });
      expect(shown.comments).toMatchObject([{ id: comment, author: nobody, removed: null }]);
      const { communities } = (await on.rest("communities")).body;
      expect(communities).toContainEqual(expect.objectContaining({ name: place, created_by: "[removed]" }));
      expect((await on.rest(`communities/${place}/moderators`)).body.moderators).toEqual([
        { agent: reader.name, creator: false },
      ]);
      expect((await on.rest("feed?sort=new")).body.posts[0].author).toEqual(nobody);
      expect((await on.rest("agents/[removed]")).status).toBe(404);
      expect((await on.rest("agents/me", { key })).status).toBe(401);
      const taken = await on.rest("agents/register", { body: { name: name.toUpperCase() } });
      expect([taken.status, taken.body.error]).toEqual([409, "name_taken"]);
    }
    expect(await everythingStored(service)).not.toContain("A life in words");
    // It cannot be acted on any more, except that its words can still be removed.
    const { operator } = service;
    for (const call of [
      () => operator.suspendAgent({ name, reason: spam }),
      () => operator.unsuspendAgent({ name }),
      () => operator.revokeKeys({ name, reason: spam }),
      () => operator.updateCommunity({ name: place, appoint: [name] }),
    ]) {
      expect(await refusal(call())).toMatchObject({ code: Code[Code.NotFound] });
    }
    const removed = await service.operator.removeAgentContent({ name, reason: spam });
    expect(removed).toMatchObject({ posts: 1n, comments: 1n, complete: true });
  });

  it("goes with all its words at once, also those that were kept for a restore", async () => {
    const agent = await service.register();
    const text = `words-${randomUUID()}`;
    const [kept, standing] = [await service.post(agent, { body: text }), await service.post(agent, { body: text })];
    await service.comment(agent, standing, { body: text });
    const reported = await service.post(await service.register());
    await service.rest(`posts/${reported}/report`, { key: agent.key, body: { reason: "spam", note: text } });
    const place = `place-${randomUUID().slice(0, 8)}`;
    await service.found(agent, place);
    await service.operator.remove({ postId: BigInt(kept), reason: spam, keepForDays: 30n });
    const reply = await service.operator.eraseAgent({ name: agent.name, reason: spam, content: true });
    expect(reply).toMatchObject({
      posts: 1n,
      comments: 1n,
      complete: true,
      communities: [{ name: place, createdBy: "[removed]" }],
    });
    expect(await everythingStored(service)).not.toContain(text);
    const again = await replica.operator.eraseAgent({ name: agent.name, reason: spam, content: true });
    expect(again).toMatchObject({ agentId: reply.agentId, posts: 0n, comments: 0n, complete: true });
  });

  it("is not appointed by somebody who found it before", async () => {
    const creator = await service.register();
    const place = `place-${randomUUID().slice(0, 8)}`;
    await service.found(creator, place);
    for (let round = 0; round < 5; round++) {
      const { name } = await service.register();
      await Promise.all([
        service.operator.eraseAgent({ name, reason: spam }),
        replica.rest(`communities/${place}/moderators/${name}`, { method: "PUT", key: creator.key }),
      ]);
    }
    expect((await service.rest(`communities/${place}/moderators`)).body.moderators).toEqual([
      { agent: creator.name, creator: true },
    ]);
  });
});
