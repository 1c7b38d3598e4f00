// What moderators did stays as it is after a repair and after a restore.
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestDatabase } from "../support/database.ts";
import { spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { operate } from "./support.ts";

const service = await startModerated();
const author = await service.register();

it("fsck repairs the comment count of a locked post, which then stays locked", async () => {
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

it("a service on a restored backup gives no id of something removed again, and can restore what is kept", async () => {
  const post = await service.post(author, { title: "The newest post" });
  const comment = await service.comment(author, post);
  await service.operator.remove({ commentId: BigInt(comment), reason: spam, keepForDays: 30n });
  await service.operator.remove({ postId: BigInt(post), reason: spam, keepForDays: 30n });
  await service.app.close();
  const file = join(scratchFolder(), "backup.sql");
  expect(await operate(service.db.config, ["backup", file])).toMatchObject({ status: 0 });
  const target = await createTestDatabase();
  expect(await operate(target.config, ["restore", file])).toMatchObject({ status: 0 });
  for (const statement of ["UPDATE moderations SET reason = 'spam'", "DELETE FROM moderations"]) {
    await expect(target.rows(statement)).rejects.toThrow("append-only");
  }
  const restored = await startModerated({ db: target });
  const next = await restored.post(author);
  expect(next).toBeGreaterThan(post);
  expect(await restored.comment(author, next)).toBeGreaterThan(comment);
  await restored.operator.restore({ postId: BigInt(post) });
  await restored.operator.restore({ commentId: BigInt(comment) });
  expect((await restored.rest(`posts/${post}`)).body.post).toMatchObject({ title: "The newest post", removed: null });
  expect(await recount(target)).toEqual([]);
});
