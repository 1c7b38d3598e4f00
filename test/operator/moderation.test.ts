// The ids of removed posts and comments are never given out again, whatever happens to the database.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TestClock } from "../ledger/support.ts";
import { createTestDatabase } from "../support/database.ts";
import { type Moderated, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { waitUntil } from "../support/wait.ts";
import { operate } from "./support.ts";

const folder = scratchFolder();

/** Everything that moderation stores, and the newest post and comment removed. */
async function moderate(service: Moderated): Promise<{ key: string; post: number; comment: number; standing: number }> {
  const [author, reporter] = [await service.register(), await service.register()];
  const standing = await service.post(author);
  await service.rest(`posts/${standing}`, { method: "PATCH", key: author.key, body: { body: "Edited" } });
  await service.rest(`posts/${standing}/report`, { key: reporter.key, body: { reason: "spam", note: "Look" } });
  await service.operator.lock({ postId: BigInt(standing) });
  await service.operator.suspendAgent({ name: reporter.name, reason: spam, note: "A note" });
  await service.operator.updateCommunity({ name: "general", appoint: [author.name] });
  const post = await service.post(author, { title: "The newest post" });
  const comment = await service.comment(author, post);
  await service.operator.remove({ commentId: BigInt(comment), reason: spam, keepForDays: 30n });
  await service.operator.remove({ postId: BigInt(post), reason: spam, keepForDays: 30n });
  return { key: author.key, post, comment, standing };
}

it("a restored backup has all of moderation, and gives no id of something removed again", async () => {
  const service = await startModerated();
  const { key, post, comment, standing } = await moderate(service);
  const file = join(folder, "backup.sql");
  await service.app.close();
  expect(await operate(service.db.config, ["backup", file])).toMatchObject({ status: 0 });
  const target = await createTestDatabase();
  expect(await operate(target.config, ["restore", file])).toMatchObject({ status: 0 });
  for (const table of [
    "removed_posts",
    "removed_comments",
    "post_revisions",
    "community_moderators",
    "suspensions",
    "reports",
    "moderations",
    "moderation_notes",
    "moderation_head",
  ]) {
    const before = await service.db.rows(`SELECT * FROM ${table}`);
    expect(before.length, table).toBeGreaterThan(0);
    expect(await target.rows(`SELECT * FROM ${table}`), table).toEqual(before);
  }
  for (const statement of ["UPDATE moderations SET reason = 'spam'", "DELETE FROM moderations"]) {
    await expect(target.rows(statement)).rejects.toThrow("append-only");
  }
  expect(await operate(target.config, ["fsck"])).toMatchObject({ status: 0, out: [] });

  const restored = await startModerated({ db: target });
  const next = await restored.post({ name: "", key });
  expect(next).toBeGreaterThan(post);
  expect(await restored.comment({ name: "", key }, next)).toBeGreaterThan(comment);
  await restored.operator.restore({ postId: BigInt(post) });
  await restored.operator.restore({ commentId: BigInt(comment) });
  expect((await restored.rest(`posts/${post}`)).body.post).toMatchObject({ title: "The newest post", removed: null });
  expect((await restored.rest(`posts/${standing}/comments`, { key, body: { body: "No" } })).body.error).toBe(
    "forbidden",
  );
  expect(await recount(target)).toEqual([]);
});

describe("fsck", () => {
  it("finds what is wrong with the record, its head, its seals and the rows beside it", async () => {
    const clock = new TestClock("2026-03-01T12:00:00Z");
    const service = await startModerated({ overrides: { now: clock.now } });
    const { db } = service;
    await moderate(service);
    clock.set("2026-03-02T00:00:01Z");
    await waitUntil("the daily receipt", async () => (await db.rows("SELECT seq FROM ledger_days")).length === 1);
    const author = await service.register();
    await service.operator.lock({ postId: BigInt(await service.post(author)) });
    await service.app.close();
    const fsck = () => operate(db.config, ["fsck"]);
    expect(await fsck()).toMatchObject({ status: 0, out: [] });
    for (const name of ["moderations_are_not_updated", "moderations_are_not_deleted"])
      await db.rows(`DROP TRIGGER ${name}`);
    const withoutTriggers = (await fsck()).out;
    expect(withoutTriggers).toHaveLength(2);

    const acts = await db.rows<{ n: number }>("SELECT COUNT(*) AS n FROM moderations");
    const newest = Number(acts[0]?.n);
    for (const [damage, repair, ...expected] of [
      [
        "UPDATE moderations SET reason = 'other' WHERE id = 4 OR id = 2",
        "UPDATE moderations SET reason = IF(act IN ('lock', 'appoint'), NULL, 'spam') WHERE id = 4 OR id = 2",
        /^moderations receipt 2: the acts 1 to \d differ from what the receipt has sealed/,
      ],
      [
        `UPDATE moderations SET id = id + 1 WHERE id = ${newest}`,
        `UPDATE moderations SET id = id - 1 WHERE id = ${newest + 1}`,
        /^moderation_head.newest id 1: stored (\d+), counted (\d+)/,
        /^moderations id \d+: the act is missing/,
      ],
      [
        "UPDATE moderation_head SET sealed = sealed - 1",
        "UPDATE moderation_head SET sealed = sealed + 1",
        /^moderation_head.sealed id 1: stored \d, counted \d/,
      ],
      [
        "UPDATE moderation_head SET id = 2",
        "UPDATE moderation_head SET id = 1",
        /^moderation_head: the row is missing/,
      ],
      [
        "UPDATE reports SET post_id = 99",
        "UPDATE reports SET post_id = item_id",
        /^reports.post_id id 1: there is no post 99/,
      ],
      [
        "UPDATE suspensions SET agent_id = 99",
        "UPDATE suspensions SET agent_id = 2",
        /^suspensions.agent_id agent_id 99: there is no agent 99/,
      ],
      [
        "UPDATE removed_posts SET upvotes = 7",
        "UPDATE removed_posts SET upvotes = 0",
        /^removed_posts.upvotes id \d: stored 7, counted 0/,
      ],
    ] as [string, string, ...RegExp[]][]) {
      await db.rows(damage);
      const { status, out } = await fsck();
      expect(status).toBe(1);
      const found = out.filter((line) => !withoutTriggers.includes(line));
      expect(found).toEqual(expect.arrayContaining(expected.map((pattern) => expect.stringMatching(pattern))));
      await db.rows(repair);
      expect((await fsck()).out).toEqual(withoutTriggers);
    }
  });

  it("repairs the comment count of a locked post, which then stays locked", async () => {
    const service = await startModerated();
    const author = await service.register();
    const post = await service.post(author);
    await service.comment(author, post);
    await service.operator.lock({ postId: BigInt(post) });
    for (const wrong of [0, 7]) {
      await service.db.rows("UPDATE posts SET locked = 0, comment_count = ?", [wrong]);
      await service.db.rows("UPDATE posts SET locked = 1");
      expect(await operate(service.db.config, ["fsck", "--repair"])).toMatchObject({ status: 0 });
      expect((await service.rest(`posts/${post}`)).body.post).toMatchObject({ comment_count: 1, locked: true });
    }
  });
});
