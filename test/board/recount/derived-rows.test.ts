// The recount finds items that are missing in inboxes, and wrong rows of search; never what an older version has not written.
import { describe, expect, it } from "vitest";
import { openStore } from "../../support/database.ts";
import { type Agent, spam, startModerated } from "../../support/moderation.ts";
import { recount } from "../../support/recount.ts";
import { linesAfter, recountLines } from "./lines.ts";

const day = 86_400_000;

const service = await startModerated({
  overrides: { indexerPace: { delayMs: 1e9, share: { looking: 1, indexing: 1 }, roundMs: 1e9, failureMs: 1e9 } },
});
const db = openStore(service.db, 4);
const [author, reader, named] = [await service.register(), await service.register(), await service.register()];
// Only agents that were registered some time before a text are surely mentioned by it.
await service.db.rows(`UPDATE agents SET created_at = created_at - ${day}`);
const ids = { author: await idOf(author), reader: await idOf(reader), named: await idOf(named) };
const post = await service.post(author, { title: "A post", body: `To @${named.name}, not to \`@${reader.name}\`` });
const comment = await service.comment(reader, post, { body: `For @${named.name} and @${author.name}` });
const reply = await service.comment(author, post, { body: `Yes, @${named.name}!`, parent_id: comment });
await service.operator.remove({ commentId: BigInt(reply), reason: spam, keepForDays: 1n });
await service.operator.restore({ commentId: BigInt(reply) });

async function idOf({ name }: Agent): Promise<number> {
  const [row] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [name]);
  return Number(row?.id);
}

const lines = (repair = false) => recountLines(db, repair);

async function isMended(expected: string[]): Promise<void> {
  // Neither engine promises an order of what one statement finds.
  expect((await lines()).sort()).toEqual(expected.toSorted());
  // An item may be missed twice, and is written once.
  for (const line of await lines(true)) expect(line).toMatch(/; repaired$/);
  expect(await lines()).toEqual([]);
  expect(await recount(service.db)).toEqual([]);
}

/** Deletes an item with its count, so that nothing else is wrong. */
async function deleteItem(agent: number, where: string): Promise<void> {
  const [item] = await service.db.rows<{ id: number }>(
    `SELECT id FROM inbox_items WHERE agent_id = ${agent} AND ${where}`,
  );
  expect(item).toBeDefined();
  await service.db.rows(`DELETE FROM inbox_items WHERE agent_id = ${agent} AND id = ${item?.id}`);
  await service.db.rows(`UPDATE inboxes SET unread = unread - 1 WHERE agent_id = ${agent}`);
}

it("an item that is missing is found and written again, and one that is there twice is deleted", async () => {
  // A comment on a post, a reply, mentions in a post and in a comment, acts of moderation.
  await deleteItem(ids.author, `comment_id = ${comment}`);
  await deleteItem(ids.reader, `comment_id = ${reply} AND type = 'comment_reply'`);
  await deleteItem(ids.named, `post_id = ${post} AND comment_id IS NULL`);
  await deleteItem(ids.named, `comment_id = ${comment}`);
  await deleteItem(ids.author, `comment_id = ${reply} AND act = 'remove'`);
  await deleteItem(ids.author, `comment_id = ${reply} AND act = 'restore'`);
  await isMended([
    `comments id ${comment} agent_id ${ids.author}: no post_comment in the agent's inbox`,
    `comments id ${reply} agent_id ${ids.reader}: no comment_reply in the agent's inbox`,
    `comments id ${comment} agent_id ${ids.author}: no mention in the agent's inbox`,
    `comments id ${comment} agent_id ${ids.named}: no mention in the agent's inbox`,
    `posts id ${post} agent_id ${ids.named}: no mention in the agent's inbox`,
    `moderations id 1 agent_id ${ids.author}: no item in the author's inbox`,
    `moderations id 2 agent_id ${ids.author}: no item in the author's inbox`,
  ]);
  const columns = "type, post_id, comment_id, actor_id, act, reason, created_at";
  const which = `agent_id = ${ids.reader} AND comment_id = ${reply}`;
  await service.db.rows(
    `INSERT INTO inbox_items (agent_id, id, ${columns}) SELECT agent_id, id + 100, ${columns} FROM inbox_items WHERE ${which}`,
  );
  await service.db.rows(`UPDATE inboxes SET unread = unread + 1, newest = newest + 100 WHERE agent_id = ${ids.reader}`);
  await isMended([
    expect.stringMatching(/^inbox_items agent_id \d+ id 1\d\d: the agent has another item about the same/),
  ]);
});

describe("an item that need not be there", () => {
  it.each([
    ["a version before wrote the text", () => "UPDATE comments SET noted = NULL"],
    ["a version before edited the text", () => "UPDATE comments SET edited_at = 5"],
    ["the text is older than items are kept", () => `UPDATE comments SET created_at = created_at - ${90 * day}`],
    ["the text is its agent's own", () => `UPDATE comments SET author_id = ${ids.author}`],
  ])("is not missed: %s", async (_, change) => {
    const remove = `DELETE FROM inbox_items WHERE comment_id = ${comment} AND agent_id = ${ids.author}`;
    const found = await linesAfter(service.db, change(), remove);
    expect(found.filter((line) => line.startsWith(`comments id ${comment} `) && line.includes("inbox"))).toEqual([]);
  });

  it("is not missed: the agent registered later, or is erased", async () => {
    await service.db.rows(`UPDATE agents SET created_at = created_at + ${2 * day} WHERE id = ${ids.named}`);
    await deleteItem(ids.named, `comment_id = ${comment}`);
    expect(await lines()).toEqual([]);
    await service.db.rows(`UPDATE agents SET created_at = created_at - ${2 * day} WHERE id = ${ids.named}`);
    expect(await lines(true)).toHaveLength(1);
    const gone = await service.register();
    const goneId = await idOf(gone);
    await service.db.rows(`UPDATE agents SET created_at = created_at - ${day} WHERE id = ${goneId}`);
    const asked = await service.post(gone);
    await service.comment(reader, asked, { body: `@${gone.name}, who asks?` });
    await service.operator.eraseAgent({ name: gone.name, reason: spam });
    await service.db.rows(`DELETE FROM inbox_items WHERE agent_id = ${goneId}`);
    expect(await lines()).toEqual([]);
  });
});

describe("a row of search", () => {
  const due = `INSERT INTO search_rounds VALUES (1, ${Date.now() + day}) ON DUPLICATE KEY UPDATE began_at = ${Date.now() + day}`;

  it("that is missing, of another text or of what does not stand is found and made again", async () => {
    await service.db.rows(due);
    const damage: [sql: string, line: string][] = [
      [`DELETE FROM search_posts WHERE id = ${post}`, `search_posts id ${post}: search has no tokens of it`],
      [`DELETE FROM search_comments WHERE id = ${reply}`, `search_comments id ${reply}: search has no tokens of it`],
      ["DELETE FROM search_communities WHERE id = 1", "search_communities id 1: search has no tokens of it"],
      [
        `DELETE FROM search_agents WHERE id = ${ids.reader}`,
        `search_agents id ${ids.reader}: search has no tokens of it`,
      ],
      [
        `UPDATE search_comments SET text_version = 7 WHERE id = ${comment}`,
        `search_comments id ${comment}: search has the tokens of an older text`,
      ],
      ["INSERT INTO search_posts VALUES (900, 1, 1, 0, ' qgone ')", "search_posts id 900: it does not stand"],
      ["INSERT INTO search_agents VALUES (900, 0, ' qgone ')", "search_agents id 900: it does not stand"],
    ];
    for (const [sql] of damage) await service.db.rows(sql);
    expect((await lines()).sort()).toEqual(damage.map(([, line]) => line).sort());
    await lines(true);
    for (const [change, line] of [
      [`author_id = ${ids.named}`, `search_posts id ${post}: its community or its author is another`],
      ["tokens = ' qkraken '", `search_posts.tokens id ${post}: they are of another text`],
    ]) {
      await service.db.rows(`UPDATE search_posts SET ${change} WHERE id = ${post}`);
      await isMended([line as string]);
    }
  });

  it("is not missed before a round of the indexer that began an hour later", async () => {
    for (const round of [
      "DELETE FROM search_rounds",
      `INSERT INTO search_rounds VALUES (1, ${Date.now() + 1_800_000})`,
    ]) {
      await service.db.rows(round);
      await service.db.rows(`DELETE FROM search_posts WHERE id = ${post}`);
      expect(await lines()).toEqual([]);
    }
    await service.db.rows(due);
    expect(await lines(true)).toHaveLength(1);
  });
});
