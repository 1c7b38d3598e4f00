// What fsck finds of the log besides wrong bits, and what it repairs.
import { expect, it } from "vitest";
import { operate } from "../operator/support.ts";
import { entriesOf, faultsOfLog, wholeSize } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { spam, startModerated } from "../support/moderation.ts";
import { insertPosts } from "../support/posts.ts";
import { waitUntil } from "../support/wait.ts";

const posts = [1, 2, 3, 4, 5] as const;

const fsck = async (...options: string[]) => (await operate(db.config, ["fsck", ...options])).out;
const isWhole = () => waitUntil("the whole log", async () => (await wholeSize(db)) !== undefined);

const { db, boardLog } = await createLoggedDatabase();
// They are imported, and fill more than a tile.
const post = { communityId: 1, upvotes: 0, downvotes: 0, createdAt: Date.now() };
await insertPosts(db, Array(300).fill(post));
await fsck("--repair");
const service = await startModerated({ db, config: { boardLog } });
const author = await service.register();
await isWhole();

it("writes tiles that are missing or wrong, the last ones too", async () => {
  await isWhole();
  await db.rows("DELETE FROM log_tiles WHERE level = 1");
  await db.rows("UPDATE log_tiles SET hashes = REPEAT('x', LENGTH(hashes))");
  const found = await fsck();
  expect(found).toContain("log_tiles level 1 n 0: the tile is missing");
  expect(found).toContain("log_tiles.hashes level 0 n 0: it differs from the entries");
  expect(await fsck("--repair")).toEqual(found.map((line) => `${line}; repaired`));
  expect(await faultsOfLog(db)).toEqual([]);
});

it("a changed entry is found, and no tile follows it", async () => {
  await isWhole();
  const [row] = await db.rows<{ entry: string }>("SELECT entry FROM log_entries WHERE idx = 7");
  await db.rows("DROP TRIGGER log_entries_are_not_updated");
  await db.rows('UPDATE log_entries SET entry = REPLACE(entry, \'"ts":"2\', \'"ts":"1\') WHERE idx = 7');
  const found = await fsck("--repair");
  expect(found).toContainEqual(expect.stringMatching(/^log_head.root id 1: it is not the root of the \d+ entries/));
  expect(found).toContain("log_tiles.hashes level 0 n 0: it differs from the entries; not repaired");
  // fsck has restored the trigger.
  await db.rows("DROP TRIGGER log_entries_are_not_updated");
  await db.rows("UPDATE log_entries SET entry = ? WHERE idx = 7", [row?.entry]);
  await fsck("--repair");
  expect(await fsck()).toEqual([]);
});

it("a text that contradicts the log is found, and never changed", async () => {
  const id = posts[0];
  await db.rows("UPDATE posts SET body = CONCAT(body, '!') WHERE id = ?", [id]);
  const line = `posts.salt id ${id}: the text contradicts what the log has committed to: restore or remove it`;
  expect(await fsck("--repair")).toContain(`${line}; not repaired`);
  await db.rows("UPDATE posts SET body = LEFT(body, LENGTH(body) - 1) WHERE id = ?", [id]);
});

it("what is removed and contradicts the log is found while its text is kept", async () => {
  const [post, comment] = [posts[3], await service.comment(author, posts[4])];
  await service.operator.remove({ postId: BigInt(post), reason: spam, keepForDays: 1n });
  await service.operator.remove({ commentId: BigInt(comment), reason: spam, keepForDays: 1n });
  await isWhole();
  const change = async (body: string) => {
    await db.rows(`UPDATE removed_posts SET body = ${body} WHERE id = ?`, [post]);
    await db.rows(`UPDATE removed_comments SET body = ${body} WHERE id = ?`, [comment]);
  };
  await change("CONCAT(body, '!')");
  const problem = "the text that is kept contradicts what the log has committed to; not repaired";
  expect(await fsck("--repair")).toEqual([
    `removed_posts.salt id ${post}: ${problem}`,
    `removed_comments.salt id ${comment}: ${problem}`,
  ]);
  await change("LEFT(body, LENGTH(body) - 1)");
  expect(await fsck()).toEqual([]);
});

it("a time or place that differs from the entry of the creation is found, also of what was edited", async () => {
  const [first, second] = [await service.comment(author, posts[4]), await service.comment(author, posts[4])];
  const edited = { key: author.key, method: "PATCH", body: { body: "Edited" } };
  expect((await service.rest(`comments/${second}`, edited)).status).toBe(200);
  await isWhole();
  const created = `created_at = created_at - 1`;
  for (const [table, id, change, back] of [
    ["posts", posts[4], created, "created_at = created_at + 1"],
    ["agents", 1, created, "created_at = created_at + 1"],
    ["comments", second, created, "created_at = created_at + 1"],
    ["comments", second, `parent_id = ${first}`, "parent_id = NULL"],
    ["comments", first, `post_id = ${posts[1]}`, `post_id = ${posts[4]}`],
  ] as const) {
    await db.rows(`UPDATE ${table} SET ${change} WHERE id = ?`, [id]);
    const what = table === "comments" ? "time, post or parent" : "time";
    expect(await fsck()).toContain(`${table} id ${id}: the log has another ${what} of its creation`);
    await db.rows(`UPDATE ${table} SET ${back} WHERE id = ?`, [id]);
    expect(await fsck()).toEqual([]);
  }
});

it("a text that is not in the log is added", async () => {
  await db.rows(
    `INSERT INTO comments (id, post_id, author_id, body, created_at, noted)
     SELECT 900, id, author_id, 'By a version from before', created_at, 0 FROM posts WHERE id = ?`,
    [posts[1]],
  );
  expect(await fsck()).toContain("comments.salt id 900: the text is not in the log");
  expect(await fsck("--repair")).toContain("comments.salt id 900: the text is not in the log; repaired");
  await isWhole();
  expect((await entriesOf(db)).at(-1)).toMatchObject({ type: "comment", id: 900, post: posts[1], imported: true });
  expect(await faultsOfLog(db)).toEqual([]);
});

it("a deletion that the log does not tell of, and an entry that has waited, are found", async () => {
  await service.app.close();
  await db.rows(
    `INSERT INTO removed_posts (id, community_id, author_id, title, body, upvotes, downvotes, comment_count, created_at,
       edited_at, locked, removed_by, removed_at)
     SELECT id, community_id, author_id, '', '', 0, 0, 0, created_at, edited_at, 0, 'author', 5 FROM posts WHERE id = ?`,
    [posts[2]],
  );
  await db.rows("DELETE FROM posts WHERE id = ?", [posts[2]]);
  const entry = `{"id":5,"of":"post","ts":"2026-01-31T00:00:04.120Z","type":"deletion","v":1}`;
  await db.rows("INSERT INTO log_outbox (id, item, item_id, entry) VALUES (90000, 'post', 5, ?)", [entry]);
  const found = await fsck();
  expect(found).toContain(`removed_posts id ${posts[2]}: the log does not tell of its deletion`);
  expect(found).toContain(
    "log_outbox id 90000: the entry has waited for over a minute: a replica with the log's key adds it",
  );
});
