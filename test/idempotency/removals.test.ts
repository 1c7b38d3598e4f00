// Idempotency keys and removals: a stored response knows its item, and what was erased is nowhere.
import { randomBytes, randomUUID } from "node:crypto";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { CreateCommentResponseSchema } from "../../gen/stoa/v1/comment_service_pb.js";
import { ModerationReason, ModerationRole } from "../../gen/stoa/v1/moderation_pb.js";
import { CreatePostResponseSchema } from "../../gen/stoa/v1/post_service_pb.js";
import { Board } from "../../src/board/board.ts";
import { eraseExpiredTexts, finishRemovals } from "../../src/board/moderation/sweep.ts";
import type { SweepTask } from "../../src/board/sweep.ts";
import { replyCheck } from "../../src/store/tables/reply-check.ts";
import { TestClock } from "../ledger/support.ts";
import { openStore } from "../support/database.ts";
import { everythingStored, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";

const clock = new TestClock("2026-05-01T12:00:00Z");
const hours = 3_600_000;
const community = "archive";

const service = await startModerated({ overrides: { now: clock.now } });
const author = await service.register();
const moderator = await service.register();
await service.found(moderator, community);

const newKey = () => randomUUID();
const ask = async (path: string, method: string, key: string, idempotencyKey: string, body?: object) => {
  const headers = { "idempotency-key": idempotencyKey };
  const reply = await service.rest(path, { method, key, headers, ...(body === undefined ? {} : { body }) });
  return { ...reply, replayed: reply.headers.get("idempotency-replayed") === "true" };
};

/** Does now what the service does every few seconds. */
const board = new Board(openStore(service.db, 1), clock.now);
const sweep = (task: SweepTask) => task(board, new AbortController().signal);

/** The two kinds of things that can be removed, made under an idempotency key. */
const kinds = {
  post: async (text: string) => {
    const create = { path: "posts", body: { title: `Title ${text}`, body: `Body ${text}`, community }, key: newKey() };
    const made = await ask(create.path, "POST", author.key, create.key, create.body);
    return { create, made, id: made.body.post.id as number, path: `posts/${made.body.post.id}` };
  },
  comment: async (text: string) => {
    const postId = await service.post(moderator, { community });
    const create = { path: `posts/${postId}/comments`, body: { body: `Body ${text}` }, key: newKey() };
    const made = await ask(create.path, "POST", author.key, create.key, create.body);
    return { create, made, id: made.body.comment.id as number, path: `comments/${made.body.comment.id}` };
  },
};
const placeholder = (kind: "post" | "comment", by: string, reason: string | null) => ({
  ...(kind === "post" ? { title: "[removed]" } : {}),
  body: "",
  author: { name: "[removed]", resident: null },
  removed: { by, reason, at: expect.any(String) },
});

/** A reply as versions before outlines stored it. */
function bytesOf(kind: "post" | "comment", item: object): Buffer {
  const schema = kind === "post" ? CreatePostResponseSchema : CreateCommentResponseSchema;
  return Buffer.from(toBinary(schema, fromJson(schema, { [kind]: item } as never)));
}

describe.each(["post", "comment"] as const)("the stored responses of a %s", (kind) => {
  it("show the placeholder after the author's deletion, and the text is nowhere in the database", async () => {
    const text = `grapes-${randomUUID()}`;
    const { create, made, path } = await kinds[kind](text);
    const edit = { key: newKey(), body: { body: `Edited ${text}` } };
    const edited = await ask(path, "PATCH", author.key, edit.key, edit.body);
    expect(edited.body[kind]).toMatchObject({ body: `Edited ${text}`, edited_at: new Date(clock.ms).toISOString() });
    // A replay is the reply of then, until the removal.
    expect((await ask(create.path, "POST", author.key, create.key, create.body)).body).toEqual(made.body);
    expect(await everythingStored(service)).toContain(text);
    const removal = newKey();
    const removed = await ask(path, "DELETE", author.key, removal);
    expect(removed.body[kind]).toMatchObject(placeholder(kind, "author", null));
    expect(await everythingStored(service)).not.toContain(text);

    for (const again of [
      await ask(create.path, "POST", author.key, create.key, create.body),
      await ask(path, "PATCH", author.key, edit.key, edit.body),
      await ask(path, "DELETE", author.key, removal),
    ]) {
      expect(again.replayed).toBe(true);
      expect(again.body).toEqual({ ok: true, [kind]: removed.body[kind] });
    }
    expect((await service.rest(path, { method: "DELETE", key: author.key })).body).toEqual(removed.body);
    expect(await recount(service.db)).toEqual([]);
  });

  it("show it again after a restore, and the placeholder after the next removal; a removal's own stays", async () => {
    const text = `figs-${randomUUID()}`;
    const { create, made, path } = await kinds[kind](text);
    const keys = { remove: newKey(), restore: newKey(), again: newKey() };
    const createAgain = () => ask(create.path, "POST", author.key, create.key, create.body);
    const removed = await ask(`${path}?reason=spam`, "DELETE", moderator.key, keys.remove);
    expect(removed.body[kind]).toMatchObject(placeholder(kind, "moderator", "spam"));
    const gone = await createAgain();
    expect([gone.body[kind], gone.replayed]).toEqual([removed.body[kind], true]);
    // Kept for seven days, in one place only.
    expect((await everythingStored(service)).split(`Body ${text}`)).toHaveLength(2);
    const restored = await ask(`${path}/restore`, "POST", moderator.key, keys.restore);
    expect(restored.body[kind]).toEqual(made.body[kind]);
    const restoredAgain = () => ask(`${path}/restore`, "POST", moderator.key, keys.restore);
    for (const { body, replayed } of [await createAgain(), await restoredAgain()]) {
      expect([body[kind], replayed]).toEqual([made.body[kind], true]);
    }
    const removedAgain = await ask(`${path}?reason=spam`, "DELETE", moderator.key, keys.remove);
    expect([removedAgain.body, removedAgain.replayed]).toEqual([removed.body, true]);
    const last = await ask(`${path}?reason=harassment`, "DELETE", moderator.key, keys.again);
    for (const { body, replayed } of [await createAgain(), await restoredAgain()]) {
      expect([body[kind], replayed]).toEqual([last.body[kind], true]);
    }
    expect(await recount(service.db)).toEqual([]);
  });

  it("of the version before hold the text: it is erased in steps, and no repeat gets it", async () => {
    const text = `olives-${randomUUID()}`;
    const { create, made, id, path } = await kinds[kind](text);
    const rows = await service.db.rows<{ id: Buffer; fingerprint: Buffer; created_at: number }>(
      "SELECT id, fingerprint, created_at FROM idempotency_replies ORDER BY created_at DESC, id LIMIT 1000",
    );
    expect(rows.length).toBeGreaterThan(0);
    const [{ fingerprint, created_at: createdAt }] = rows as [(typeof rows)[number]];
    const reply = bytesOf(kind, made.body[kind]);
    const old = Array.from({ length: 250 }, () => {
      const row = { id: randomBytes(32), fingerprint, sealed: false, createdAt, reply };
      const check = replyCheck({ ...row, isOutline: false });
      return [row.id, fingerprint, reply, 0, createdAt, createdAt + 24 * hours, check, kind, id];
    });
    await service.db.pool.query(
      "INSERT INTO idempotency_replies (id, fingerprint, reply, sealed, created_at, due_at, reply_check, item, item_id) VALUES ?",
      [old],
    );
    expect((await everythingStored(service)).split(text).length).toBeGreaterThan(old.length);
    const { body } = await service.rest(path, { method: "DELETE", key: author.key });
    expect((await ask(create.path, "POST", author.key, create.key, create.body)).body[kind]).toEqual(body[kind]);
    await sweep(finishRemovals);
    expect(await everythingStored(service)).not.toContain(text);
    expect(await recount(service.db)).toEqual([]);
  });

  it("and texts that a moderator removed are erased after seven days, by the sweep", async () => {
    const text = `dates-${randomUUID()}`;
    const { path } = await kinds[kind](text);
    await service.rest(`${path}?reason=spam`, { method: "DELETE", key: moderator.key });
    clock.ms += 7 * 24 * hours - 1;
    await sweep(eraseExpiredTexts);
    expect(await everythingStored(service)).toContain(text);
    clock.ms += 1;
    // Even before the sweep nobody restores it.
    const late = await service.rest(`${path}/restore`, { method: "POST", key: moderator.key });
    expect([late.status, late.body.error]).toEqual([404, "not_found"]);
    await sweep(eraseExpiredTexts);
    expect(await everythingStored(service)).not.toContain(text);
  });

  it("the operator keeps a text as many days as it says, and repeats shorten them", async () => {
    const text = `nuts-${randomUUID()}`;
    const { id, path } = await kinds[kind](text);
    const item = { [`${kind}Id`]: BigInt(id), reason: spam };
    await service.operator.remove({ ...item, keepForDays: 30n });
    const [{ n: recorded }] = (await service.db.rows("SELECT COUNT(*) AS n FROM moderations")) as [{ n: number }];
    await service.operator.remove({ ...item, keepForDays: 30n });
    await service.rest(`${path}?reason=secret`, { method: "DELETE", key: moderator.key });
    expect(await service.recorded()).toBe(recorded);
    expect(await everythingStored(service)).toContain(text);
    await service.operator.remove({ ...item, keepForDays: 1n });
    expect(await service.recorded()).toBe(recorded + 1);
    const [kept] = await service.db.rows<{ erase_at: number }>(`SELECT erase_at FROM removed_${kind}s WHERE id = ?`, [
      id,
    ]);
    expect(kept?.erase_at).toBe(clock.ms + 24 * hours);
    // The author's own word counts for more.
    await service.rest(path, { method: "DELETE", key: author.key });
    expect(await everythingStored(service)).not.toContain(text);
  });

  it("the operator takes over what a moderator removed, and then only the operator restores it", async () => {
    const text = `figs-${randomUUID()}`;
    const { id, path } = await kinds[kind](text);
    await service.rest(`${path}?reason=spam`, { method: "DELETE", key: moderator.key });
    const item = { [`${kind}Id`]: BigInt(id) };
    const recorded = await service.recorded();
    for (let repeat = 0; repeat < 2; repeat++) {
      const reply = await service.operator.remove({ ...item, reason: ModerationReason.HARASSMENT, keepForDays: 30n });
      expect(reply[kind]?.removed).toMatchObject({
        by: ModerationRole.OPERATOR,
        reason: ModerationReason.HARASSMENT,
      });
    }
    expect(await service.recorded()).toBe(recorded + 1);
    const refused = await service.rest(`${path}/restore`, { method: "POST", key: moderator.key });
    expect([refused.status, refused.body.error]).toEqual([403, "forbidden"]);
    await service.operator.restore(item);
    const shown = await service.rest(path);
    expect(JSON.stringify(shown.body)).toContain(text);
  });
});

describe("an edit", () => {
  it("that changes nothing writes nothing, and one that does has a revision", async () => {
    const id = await service.post(author, { title: "As it was", body: "One" });
    const patch = (body: object) => service.rest(`posts/${id}`, { method: "PATCH", key: author.key, body });
    for (const same of [{}, { title: "As it was" }, { title: "As it was", body: "One" }, { title: null, body: null }]) {
      expect((await patch(same)).body.post.edited_at).toBeNull();
    }
    expect((await service.rest(`posts/${id}/revisions`)).body).toEqual({ ok: true, revisions: [], next_cursor: null });
    const times: string[] = [];
    for (const body of ["Two", "", "Two"]) {
      clock.ms += 1000;
      times.push(new Date(clock.ms).toISOString());
      expect((await patch({ body })).body.post).toMatchObject({ title: "As it was", body, edited_at: times.at(-1) });
    }
    const { revisions } = (await service.rest(`posts/${id}/revisions`)).body;
    expect(revisions).toEqual(times.map((edited_at) => ({ edited_at })));
    // A removed post still shows when it was edited, and no text.
    await service.rest(`posts/${id}`, { method: "DELETE", key: author.key });
    expect((await service.rest(`posts/${id}/revisions`)).body.revisions).toEqual(revisions);
  });

  it.each([
    ["posts", { title: "ab" }, "title"],
    ["posts", { body: "x".repeat(10_001) }, "body"],
    ["comments", {}, "body"],
  ])("of %s has the field rules of the create: %#", async (kind, body, field) => {
    const post = await service.post(author);
    const id = kind === "posts" ? post : await service.comment(author, post);
    const reply = await service.rest(`${kind}/${id}`, { method: "PATCH", key: author.key, body });
    expect([reply.status, reply.body.error, reply.body.field]).toEqual([400, "bad_input", field]);
  });
});
