// The salt of a text lives and dies with it, and what is older than the log is imported when it is restored.
import { expect, it } from "vitest";
import { createDatabaseWithSchema } from "../support/database.ts";
import { beginTestLog, entriesOf, faultsOfLog } from "../support/log.ts";
import { spam, startModerated } from "../support/moderation.ts";

const dayMs = 86_400_000;
const beginsAt = Date.UTC(2026, 2, 14, 12);
let now = beginsAt - 3_600_000;

const db = await createDatabaseWithSchema();
await beginTestLog(db, beginsAt);
const service = await startModerated({ db, overrides: { now: () => now, sealsDays: false, sweeps: true } });
const author = await service.register("Zeno");

const items = [
  { kind: "post", make: () => service.post(author), ref: (id: number) => ({ postId: BigInt(id) }) },
  {
    kind: "comment",
    make: async () => service.comment(author, await service.post(author)),
    ref: (id: number) => ({ commentId: BigInt(id) }),
  },
];
const saltOf = async (table: string, id: number) =>
  (await service.db.rows<{ salt: Buffer | null }>(`SELECT salt FROM ${table} WHERE id = ?`, [id]))[0]?.salt;
const entriesAbout = async (kind: string, id: number) =>
  (await entriesOf(service.db)).filter((entry) => entry.id === id && [entry.type, entry.of].includes(kind));
const old: number[] = [];

it.each(items)("before the log begins, a new $kind adds nothing", async ({ kind, make, ref }) => {
  const [kept, edited, deleted, removed] = [await make(), await make(), await make(), await make()];
  await service.operator.remove({ ...ref(removed), reason: spam, keepForDays: 1n });
  old.push(kept, edited, deleted, removed);
  expect(await saltOf(`${kind}s`, kept)).toBeNull();
  expect((await entriesOf(service.db)).map(({ type }) => type)).toEqual(["log"]);
});

it.each(items.map((item, at) => ({ ...item, at })))(
  "an edit or deletion of a $kind that is not in the log adds nothing; its restore imports it",
  async ({ kind, ref, at }) => {
    now = Math.max(now, beginsAt);
    const [kept, edited, deleted, removed] = old.slice(at * 4) as [number, number, number, number];
    await service.rest(`${kind}s/${edited}`, { method: "PATCH", key: author.key, body: { body: "Another" } });
    await service.rest(`${kind}s/${deleted}`, { method: "DELETE", key: author.key });
    for (const id of [kept, edited, deleted]) expect(await entriesAbout(kind, id)).toEqual([]);
    await service.operator.restore(ref(removed));
    expect(await entriesAbout(kind, removed)).toEqual([
      expect.objectContaining({ type: kind, imported: true, ts: "2026-03-14T11:00:00.000Z" }),
    ]);
    expect(await faultsOfLog(service.db, { isImported: false })).toEqual([]);
  },
);

it.each(items)(
  "a removal that keeps the text of a $kind keeps its salt; its restore adds no entry",
  async ({ kind, make, ref }) => {
    const id = await make();
    const salt = await saltOf(`${kind}s`, id);
    expect(salt).toHaveLength(16);
    await service.operator.remove({ ...ref(id), reason: spam, keepForDays: 1n });
    expect(await saltOf(`removed_${kind}s`, id)).toEqual(salt);
    await service.operator.restore(ref(id));
    expect(await saltOf(`${kind}s`, id)).toEqual(salt);
    expect(await entriesAbout(kind, id)).toHaveLength(1);
  },
);

it("what erases the text of a post or comment erases its salt", async () => {
  const kept: [kind: string, id: number][] = [];
  for (const { kind, make, ref } of items) {
    const [byAuthor, atOnce, sooner, later] = [await make(), await make(), await make(), await make()];
    await service.rest(`${kind}s/${byAuthor}`, { method: "DELETE", key: author.key });
    await service.operator.remove({ ...ref(atOnce), reason: spam });
    for (const id of [sooner, later]) await service.operator.remove({ ...ref(id), reason: spam, keepForDays: 1n });
    await service.operator.remove({ ...ref(sooner), reason: spam });
    for (const id of [byAuthor, atOnce, sooner]) expect(await saltOf(`removed_${kind}s`, id)).toBeNull();
    expect(await saltOf(`removed_${kind}s`, later)).toHaveLength(16);
    kept.push([kind, later]);
  }
  now += dayMs;
  // The sweep runs every few seconds.
  for (const [kind, id] of kept) await expect.poll(() => saltOf(`removed_${kind}s`, id)).toBeNull();
});

it("a new version of a text has a new salt, and an edit that changes nothing adds nothing", async () => {
  const id = await service.post(author);
  const salt = await saltOf("posts", id);
  const edit = (title: string) => service.rest(`posts/${id}`, { method: "PATCH", key: author.key, body: { title } });
  await edit("A post");
  expect(await saltOf("posts", id)).toEqual(salt);
  await edit("Another");
  expect(await saltOf("posts", id)).not.toEqual(salt);
  expect((await entriesAbout("post", id)).map(({ type }) => type)).toEqual(["post", "edit"]);
});

it("an agent that is erased loses its salt, and those of its words that were kept", async () => {
  const agent = await service.register("Diodorus");
  const id = await service.post(agent);
  await service.operator.remove({ postId: BigInt(id), reason: spam, keepForDays: 1n });
  await service.operator.eraseAgent({ name: agent.name, reason: spam, content: true });
  expect(await saltOf("removed_posts", id)).toBeNull();
  const rows = await service.db.rows("SELECT id FROM agents WHERE name = '[removed]' AND salt IS NOT NULL");
  expect(rows).toEqual([]);
  expect(await faultsOfLog(service.db, { isImported: false })).toEqual([]);
});

it("a write that fails or is repeated adds no entry twice", async () => {
  const before = (await entriesOf(service.db)).length;
  const headers = { "idempotency-key": "the-same-key-twice" };
  const body = { title: "Once" };
  for (let time = 0; time < 2; time++) await service.rest("posts", { key: author.key, body, headers });
  const refused = await service.rest("posts/1/comments", {
    key: author.key,
    body: { body: "Why?", parent_id: 999_999 },
  });
  expect(refused.status).toBe(404);
  expect(await entriesOf(service.db)).toHaveLength(before + 1);
});
