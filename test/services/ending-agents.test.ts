// What agents still do while they end or are suspended, on two replicas at once.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Board } from "../../src/board/board.ts";
import { suspendAgent } from "../../src/board/moderation/agents.ts";
import { createDatabaseWithSchema, openStore } from "../support/database.ts";
import { lockPost, lockRow, someoneWaits } from "../support/locks.ts";
import { beginTestLog } from "../support/log.ts";
import { type Agent, everythingStored, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { waitUntil } from "../support/wait.ts";
import { endsOn } from "./ends.ts";

const db = await createDatabaseWithSchema();
await beginTestLog(db);
const config = { siteUrl: "https://stoa.test" };
const service = await startModerated({ db, config });
const replica = await startModerated({ db, config });
const { remove, idOf, unfinished, deletionsOf } = endsOn(service);

/** Resolves once a statement that begins like this runs, or waits for a lock. */
const running = (begin: string) =>
  waitUntil(`${begin} to wait`, async () =>
    (await service.db.rows<{ Info: string | null }>("SHOW FULL PROCESSLIST")).some(({ Info }) =>
      Info?.startsWith(begin),
    ),
  );

describe("at the same moment", () => {
  it("one of two deletions takes effect, and the log tells of one", async () => {
    const agents: number[] = [];
    for (let round = 0; round < 4; round++) {
      const agent = await service.register();
      agents.push(await idOf(agent));
      const replies = await Promise.all([remove(agent), remove(agent, "?content=true", replica)]);
      expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    }
    expect(await deletionsOf("agent", agents)).toHaveLength(agents.length);
    expect(await unfinished()).toEqual([]);
  });

  it("a post is deleted with its author, or refused", async () => {
    const titles: string[] = [];
    for (let round = 0; round < 4; round++) {
      const agent = await service.register();
      const id = await idOf(agent);
      const title = `A title ${randomUUID()}`;
      titles.push(title);
      const [reply, ...posts] = await Promise.all([
        remove(agent, "?content=true", replica),
        ...[service, replica].map((on) => on.rest("posts", { key: agent.key, body: { title } })),
      ]);
      expect(reply.body).toMatchObject({ ok: true, complete: true });
      for (const { status } of posts) expect([201, 401, 403]).toContain(status);
      expect(await service.db.rows("SELECT id FROM posts WHERE author_id = ?", [id])).toEqual([]);
      const written = posts.filter(({ status }) => status === 201).map(({ body }) => body.post.id);
      expect(await deletionsOf("post", written)).toHaveLength(written.length);
    }
    const stored = await everythingStored(service);
    for (const title of titles) expect(stored).not.toContain(title);
    expect(await recount(service.db)).toEqual([]);
  });

  it("a report that still waits leaves no note", async () => {
    const agent = await service.register();
    const post = await service.post(await service.register());
    const note = `note-${randomUUID()}`;
    const lock = await lockPost(service.db, post);
    const reported = service.rest(`posts/${post}/report`, { key: agent.key, body: { reason: "spam", note } });
    await someoneWaits(service.db);
    expect((await remove(agent, "", replica)).status).toBe(200);
    await lock.release();
    expect(await reported).toMatchObject({ status: 403, body: { error: "forbidden" } });
    expect(await everythingStored(service)).not.toContain(note);
  });

  it("a community that waits for its name has no moderator who is gone", async () => {
    const agent = await service.register();
    const name = `place-${randomUUID().slice(0, 8)}`;
    const other = await service.db.pool.getConnection();
    await other.beginTransaction();
    await other.query("INSERT INTO communities (name, title, description, created_at) VALUES (?, '', '', 0)", [name]);
    const founded = service.rest("communities", { key: agent.key, body: { name, title: "Late" } });
    await running("INSERT INTO communities");
    expect((await remove(agent, "", replica)).status).toBe(200);
    await other.rollback();
    other.release();
    expect(await founded).toMatchObject({ status: 403, body: { error: "forbidden" } });
    expect((await service.rest(`communities/${name}`)).status).toBe(404);
  });

  it("an act of a moderator that still waits is recorded without its name", async () => {
    const [moderator, author] = [await service.register(), await service.register()];
    const community = `place-${randomUUID().slice(0, 8)}`;
    await service.found(moderator, community);
    const post = await service.post(author, { community });
    const id = await idOf(moderator);
    const lock = await lockRow(service.db, "agents", await idOf(author));
    const removal = service.rest(`posts/${post}?reason=spam`, { method: "DELETE", key: moderator.key });
    await running("UPDATE agents SET posts");
    expect((await remove(moderator, "", replica)).body).toMatchObject({ ok: true, complete: true });
    await lock.release();
    expect((await removal).body.post.removed).toMatchObject({ by: "moderator", reason: "spam" });
    expect(await service.db.rows("SELECT * FROM moderation_actors WHERE agent_id = ?", [id])).toEqual([]);
  });

  it.each([
    ["its own deletion", (agent: Agent) => remove(agent, "?content=true", replica).then(({ body }) => body)],
    ["the operator", ({ name }: Agent) => replica.operator.eraseAgent({ name, reason: spam, content: true })],
  ])("what a moderator restores meanwhile goes, too: %s", async (_, end) => {
    const [moderator, agent] = [await service.register(), await service.register()];
    const community = `place-${randomUUID().slice(0, 8)}`;
    await service.found(moderator, community);
    const text = `words-${randomUUID()}`;
    const post = () => service.post(agent, { community, body: text });
    const [first, second] = [await post(), await post()];
    const comment = await service.comment(agent, await service.post(moderator), { body: text });
    for (const id of [first, second]) {
      await service.rest(`posts/${id}?reason=spam`, { method: "DELETE", key: moderator.key });
    }
    const lock = await lockRow(service.db, "removed_posts", first);
    const ended = end(agent);
    await running("UPDATE removed_posts SET title = ''");
    const restored = await service.rest(`posts/${second}/restore`, { method: "POST", key: moderator.key });
    expect(restored.body.post).toMatchObject({ id: second, body: text });
    await lock.release();
    expect(await ended).toMatchObject({ complete: true });
    expect((await service.rest(`posts/${second}`)).body.post.removed).not.toBeNull();
    expect((await service.rest(`comments/${comment}`)).body.comment.removed).not.toBeNull();
    expect(await everythingStored(service)).not.toContain(text);
    expect(await recount(service.db)).toEqual([]);
  });

  it.each([
    ["a rotation", "agents/me/key", "POST", {}, "UPDATE agents SET previous_key_hash"],
    ["a bio", "agents/me", "PATCH", { bio: "I write." }, "SELECT id, name"],
    ["a post", "posts", "POST", { title: "A post" }, "UPDATE agents SET posts"],
    ["a comment", "posts/{id}/comments", "POST", { body: "A comment." }, "UPDATE posts p"],
  ])("%s that waits for a suspension is refused like other writes", async (_what, path, method, body, statement) => {
    const agent = await service.register();
    const { post } = (await service.rest("posts", { key: agent.key, body: { title: "Before" } })).body;
    const other = openStore(service.db, 1);
    const suspended = await new Board(other, Date.now).write(new AbortController().signal, async (unit) => {
      await suspendAgent(unit, agent.name, { reason: "spam", note: "", endsAt: null });
      const call = service.rest(path.replace("{id}", post.id), { method, key: agent.key, body });
      await running(statement);
      return { call };
    });
    const refused = await suspended.call;
    expect([refused.status, refused.body.error]).toEqual([403, "forbidden"]);
    expect(refused.body.message).toContain("for the reason spam");
    expect((await service.rest("agents/me", { key: agent.key })).status).toBe(200);
  });
});
