// Agents write, read and leave at once, on two replicas. Every inbox then equals what the words say. Edits, removals and restores
// are in moderation/races.test.ts.
import { expect, it } from "vitest";
import { Board } from "../../../src/board/board.ts";
import { forgetOldItems } from "../../../src/board/inbox/sweep.ts";
import { openStore } from "../../support/database.ts";
import { type Agent, type Moderated, spam, startModerated } from "../../support/moderation.ts";
import { recount } from "../../support/recount.ts";
import type { Reply } from "../../support/service.ts";

const first = await startModerated();
const replicas: [Moderated, Moderated] = [first, await startModerated({ db: first.db })];
const agents = await Promise.all(Array.from({ length: 12 }, (_, i) => first.register(`Racer${i}`)));
await first.found(agent(0), "races");

function replica(turn: number): Moderated {
  return replicas[turn % 2] as Moderated;
}

function agent(turn: number): Agent {
  return agents[turn % agents.length] as Agent;
}

/** Refusals that such a race may cause. */
const lost = ["not_found", "forbidden"];

function expectFine({ status, body }: Reply): void {
  if (status >= 400 && !lost.includes(body.error)) expect.unreachable(`${status} ${JSON.stringify(body)}`);
}

it("an agent that is erased while others write to it is left with nothing", async () => {
  const [service] = replicas;
  const gone = await service.register("Leaver");
  const post = await service.post(gone);
  const writes = Array.from(
    { length: 30 },
    (_, i) => () =>
      replica(i).rest(`posts/${post}/comments`, { key: agent(i).key, body: { body: `Stay, @Leaver ${i}` } }),
  );
  const erase = () => service.operator.eraseAgent({ name: "Leaver", reason: spam });
  const [, ...replies] = await Promise.all([erase(), ...writes.map((each) => each())]);
  for (const { status } of replies) expect(status).toBe(201);
  const [inbox] = await service.db.rows<{ agent_id: number; unread: number; read_up_to: number; newest: number }>(
    "SELECT b.* FROM inboxes b JOIN agents a ON a.id = b.agent_id WHERE a.name_key = 'leaver'",
  );
  expect(inbox).toMatchObject({ unread: 0, read_up_to: inbox?.newest });
  const sql = "SELECT id FROM inbox_items WHERE agent_id = ? AND id > ?";
  expect(await service.db.rows(sql, [inbox?.agent_id, inbox?.newest])).toEqual([]);
  expect(await recount(service.db)).toEqual([]);
});

it("an agent whose content is removed while others answer it leaves no item behind", async () => {
  const [service] = replicas;
  const spammer = await service.register("Spammer");
  const post = await service.post(agent(0), { body: "Quiet" });
  const posts = await Promise.all([1, 2, 3].map((i) => service.post(spammer, { body: `@Racer${i} @Racer4` })));
  const comments = await Promise.all([1, 2, 3].map(() => service.comment(spammer, post, { body: "@Racer5" })));
  const writing = Array.from({ length: 48 }, (_, i) => {
    const [on, parent] = [replica(i), comments[i % 3]];
    const say = (key: string, to: number | undefined, body: object) => on.rest(`posts/${to}/comments`, { key, body });
    if (i % 4 === 0) return say(spammer.key, post, { body: `@Racer${i % 12}`, parent_id: parent });
    if (i % 4 === 1) return say(agent(i).key, posts[i % 3], { body: "@Spammer @Racer2" });
    return say(agent(i).key, post, { body: "@Spammer", parent_id: parent });
  });
  await service.operator.suspendAgent({ name: spammer.name, reason: spam });
  const remove = (on: Moderated) => on.operator.removeAgentContent({ name: spammer.name, reason: spam });
  const removed = await Promise.all(replicas.map(remove));
  for (const reply of await Promise.all(writing)) expectFine(reply);
  const [{ n } = { n: 0 }] = await service.db.rows<{ n: number }>(
    "SELECT COUNT(*) AS n FROM removed_posts WHERE author_id = (SELECT id FROM agents WHERE name = 'Spammer')",
  );
  // Both calls together count each post once.
  expect(removed.reduce((sum, { posts }) => sum + Number(posts), 0)).toBe(n);
  expect([...removed, await remove(service)].map(({ complete }) => complete)).toEqual([true, true, true]);
  const [left] = await service.db.rows<{ n: number }>(
    "SELECT COUNT(*) AS n FROM inbox_items WHERE actor_id = (SELECT id FROM agents WHERE name = 'Spammer')",
  );
  expect(left).toEqual({ n: 0 });
  expect(await recount(service.db)).toEqual([]);
});

it("pages and marks beside items that come and go skip nothing and mark nothing unseen", async () => {
  const [service] = replicas;
  const reader = await service.register("Reader");
  const post = await service.post(reader);
  const say = (i: number) => service.comment(agent(i), post, { body: `Number ${i}` });
  const staying = await Promise.all(Array.from({ length: 20 }, (_, i) => say(i)));
  const going = await Promise.all(Array.from({ length: 10 }, (_, i) => say(i)));
  const { key } = reader;
  const page = (query: string) => replica(query.length).rest(`agents/me/inbox?${query}`, { key });
  const others = Promise.all([
    ...going.map((id, i) => replica(i).rest(`comments/${id}`, { key: agent(i).key, method: "DELETE" })),
    ...Array.from({ length: 20 }, (_, i) => say(i)),
  ]);
  const listed: { id: number; comment_id: number }[] = [];
  for (let cursor = ""; ; ) {
    const { body } = await page(`limit=3${cursor}`);
    listed.push(...body.items);
    if (body.next_cursor === null) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  const newest = listed[0]?.id as number;
  expect((await service.rest("agents/me/inbox/read", { key, body: { up_to: newest } })).status).toBe(200);
  await others;
  const ids = listed.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a));
  expect(listed.map(({ comment_id }) => comment_id)).toEqual(expect.arrayContaining(staying));
  // What was written since is unread, all of it and nothing else.
  const unread = (await page("unread=true&limit=100")).body.items as { id: number }[];
  const all = (await page("limit=100")).body.items as { id: number }[];
  expect(unread).toEqual(all.filter(({ id }) => id > newest));
  expect(all.length).toBe(40);
  expect(await recount(service.db)).toEqual([]);
});

it("five readers of one inbox bring each post and comment once, while others write and subscribe", async () => {
  const [service] = replicas;
  const reader = await service.register("Subscriber");
  const { key } = reader;
  const followed = await service.post(agent(0), { community: "races" });
  const subscribe = (path: string, turn: number) => replica(turn).rest(`subscriptions/${path}`, { key, method: "PUT" });
  const paths = ["communities/races", `threads/${followed}`, `agents/${agent(1).name}`];
  const subscribed = await Promise.all([...paths, ...paths].map(subscribe));
  expect(subscribed.map(({ status }) => status)).toEqual(subscribed.map(() => 200));
  expect((await service.rest("subscriptions", { key })).body.subscriptions).toHaveLength(3);
  const written: string[] = [];
  const writing = Promise.all(
    Array.from({ length: 4 }, async (_, at) => {
      for (let i = 0; i < 10; i++) {
        const by = agent(at + i);
        // Some mention the reader, and give an item by themselves.
        const body = i % 3 === 0 ? `@${reader.name}` : "Word";
        if (at % 2 === 0) written.push(`post ${await replica(at + i).post(by, { community: "races", body })}`);
        else written.push(`comment ${await replica(at + i).comment(by, followed, { body })}`);
      }
    }),
  );
  let over = false;
  const reading = Array.from({ length: 5 }, async (_, at) => {
    for (let i = at; !over; i++) {
      const path = ["agents/me/inbox", "agents/me/home", "agents/me"][i % 3] as string;
      expect((await replica(i).rest(path, { key })).status).toBe(200);
    }
  });
  await writing.finally(() => {
    over = true;
  });
  await Promise.all(reading);
  const { items } = (await service.rest("agents/me/inbox?limit=100", { key })).body;
  const found = items.map(({ post_id, comment_id }: Record<string, number | null>) =>
    comment_id === null ? `post ${post_id}` : `comment ${comment_id}`,
  );
  expect(found.toSorted()).toEqual(written.toSorted());
  const ids = items.map(({ id }: { id: number }) => id);
  expect(ids).toEqual(ids.toSorted((a: number, b: number) => b - a));
  expect(await recount(service.db)).toEqual([]);
});

// The last test: a recount would miss the items that the sweep takes.
it("the sweep takes old items while others come and are read, and the counters stay right", async () => {
  const [service] = replicas;
  const { db } = service;
  await db.rows("UPDATE inbox_items SET created_at = 1 WHERE id % 2 = 0");
  const posts = await Promise.all([0, 1].map((i) => service.post(agent(i))));
  const database = openStore(db, 4);
  const board = new Board(database, Date.now);
  const { signal } = new AbortController();
  await Promise.all([
    forgetOldItems(board, signal),
    forgetOldItems(board, signal),
    ...Array.from({ length: 40 }, (_, i) =>
      i % 2 === 0
        ? replica(i).rest(`posts/${posts[i % 4 === 0 ? 0 : 1]}/comments`, {
            key: agent(i + 3).key,
            body: { body: "Still" },
          })
        : replica(i).rest("agents/me/inbox/read", { key: agent(i).key, body: { up_to: i } }),
    ),
  ]);
  expect(await db.rows("SELECT agent_id, id FROM inbox_items WHERE created_at = 1")).toEqual([]);
  const wrong = (await recount(db)).flatMap(({ rows }) => rows).filter((each) => !String(each).startsWith("missing"));
  expect(wrong).toEqual([]);
});
