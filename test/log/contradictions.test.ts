// What is served while the database contradicts what was published, or the log is frozen.
import { expect, it } from "vitest";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** A board with a post that its log has published. */
interface Board extends Service {
  post: number;
  create(title: string): Promise<number>;
}

const rows: Service["db"]["rows"] = (sql, params) => service.db.rows(sql, params);
const rest: Service["rest"] = (path, ask) => service.rest(path, ask);

async function startBoard(): Promise<Board & { key: string }> {
  const { db, boardLog } = await createLoggedDatabase();
  const started = await startService({ db, config: { boardLog } });
  const { key } = await started.register();
  const create = async (title: string): Promise<number> =>
    (await started.rest("posts", { key, body: { title, body: "Achilles" } })).body.post.id;
  const post = await create("A race");
  await untilPublished(started);
  return { ...started, key, post, create };
}

async function freeze(board: Board) {
  const checkpoint = await (await fetch(`${board.url}/log/checkpoint`)).text();
  await board.db.rows("UPDATE log_head SET restored = 1");
  // A look that began before this adds what it finds.
  await waitUntil("the warning", async () => /frozen/.test((await board.rest("/readyz")).body.warning));
  const late = await board.create("While it is frozen");
  return { ...board, checkpoint, reply: board.rest(`posts/${late}/proof`) };
}

const [service, other] = await Promise.all([startBoard(), startBoard()]);
const { key, post } = service;
/**
 * A board whose log is frozen, and the reply to who asks for the proof of what was written then. It takes 5 seconds: the other
 * tests run meanwhile.
 */
const frozen = await freeze(other);

it("a text that was changed in the database is not proved, and the operator is warned until it is restored", async () => {
  const isProved = async () => (await fetch(`${service.url}/api/v1/posts/${post}/proof`)).status === 200;
  expect(await isProved()).toBe(true);
  await rows("UPDATE posts SET body = 'The tortoise' WHERE id = ?", [post]);
  expect(await rest(`posts/${post}/proof`)).toMatchObject({
    status: 503,
    body: { error: "unavailable", message: `The text of post ${post} contradicts what the log has committed to.` },
  });
  expect((await rest("/readyz")).body.warning).toMatch(`contradict what the log has committed to (post ${post})`);
  await rows("UPDATE posts SET body = 'Achilles' WHERE id = ?", [post]);
  expect(await isProved()).toBe(true);
  expect((await rest("/readyz")).body.warning).toBeUndefined();
});

it("a text or removal is looked for among the newest 10,000 entries of its item, however many there are", async () => {
  const add = async (from: number, entry: string, to = post) => {
    const added = Array.from({ length: 10_001 }, (_, at) => `(${from + at}, 'post', ${to}, '${entry}')`);
    await service.db.pool.query(`INSERT INTO log_entries (idx, item, item_id, entry) VALUES ${added.join()}`);
  };
  const said = async (path: string) => {
    const { status, body } = await rest(`posts/${post}/${path}`);
    return [status, body.error, body.message];
  };
  await rows("DROP TRIGGER log_entries_are_not_deleted");
  expect(await said("proof?of=removal")).toEqual([404, "not_found", "The log has no removal of this post."]);
  const advice = "List its entries, and prove one by its index.";
  await add(1_000_000, '{"content":"edited"}');
  const noRemoval = `None of the newest 10000 entries of this post removes it. ${advice}`;
  expect(await said("proof?of=removal")).toEqual([404, "not_found", noRemoval]);
  await add(2_000_000, '{"act":"lock"}');
  const noText = `None of the newest 10000 entries of this post has a text. ${advice}`;
  expect(await said("proof")).toEqual([404, "not_found", noText]);
  // What has just been removed is waited for.
  const other = await service.create("Another race");
  await add(-20_000, '{"content":"edited"}', other);
  expect((await rest(`posts/${other}`, { method: "DELETE", key })).status).toBe(200);
  expect((await fetch(`${service.url}/api/v1/posts/${other}/proof?of=removal`)).status).toBe(200);
  await rows("DELETE FROM log_entries WHERE idx < 0 OR idx >= 1000000");
});

it("an entry that was published and that the database lacks is 503, and not missing", async () => {
  const { size } = (await rest("log/entries?limit=1")).body;
  const lost = size - 2;
  const [row] = await rows<Record<string, unknown>>("SELECT * FROM log_entries WHERE idx = ?", [lost]);
  await rows("DELETE FROM log_entries WHERE idx = ?", [lost]);
  for (const path of [`log/entries/${lost}/proof`, `log/entries?from=${lost}`, `log/entries?limit=${lost + 1}`]) {
    const { status, headers, body } = await rest(path);
    expect([path, status, headers.get("cache-control"), body.error]).toEqual([path, 503, "no-store", "unavailable"]);
  }
  expect((await rest(`log/entries/${size}/proof`)).status).toBe(404);
  const before = await rest(`log/entries?limit=${lost - 1}`);
  expect([before.status, before.body.next_from]).toEqual([200, lost - 1]);
  await service.db.pool.query("INSERT INTO log_entries SET ?", [row]);
});

it("an item that the database may have lost is 503, and not missing", async () => {
  await untilPublished(service);
  const paths = [
    ...[
      "posts/999999/proof",
      "posts/999999/proof?of=removal",
      "comments/999999/proof",
      `posts/${post}/proof?of=removal`,
    ],
    ...["agents/nobody/proof", "communities/nowhere/proof", "house/receipts/999999/proof"],
    `log/entries?item=post&item_id=${post}`,
  ];
  const statuses = () => Promise.all(paths.map(async (path) => (await rest(path)).status));
  const before = await statuses();
  expect(before).toEqual([404, 404, 404, 404, 404, 404, 404, 200]);
  const [row] = await rows<Record<string, unknown>>("SELECT * FROM log_entries ORDER BY idx DESC LIMIT 1");
  await rows("DELETE FROM log_entries WHERE idx = ?", [row?.idx]);
  expect(await statuses()).toEqual(paths.map(() => 503));
  await service.db.pool.query("INSERT INTO log_entries SET ?", [row]);
  expect(await statuses()).toEqual(before);
});

it("a tile or an entry that was changed in the database is not served", async () => {
  // Another replica has no tiles in memory.
  const other = await startService({ db: service.db });
  await rows("DROP TRIGGER log_entries_are_not_updated");
  const [agent] = await rows<{ idx: number }>("SELECT idx FROM log_entries WHERE item = 'agent'");
  const { idx } = agent as { idx: number };
  const swap = "UPDATE log_entries SET entry = REPLACE(entry, ?, ?) WHERE idx = ?";
  await rows(swap, ["agent", "agenT", idx]);
  for (const path of [`/log/tile/entries/000.p/${idx + 1}`, `/api/v1/log/entries/${idx}/proof`]) {
    const reply = await rest(path);
    expect([path, reply.status, reply.headers.get("cache-control")]).toEqual([path, 503, "no-store"]);
  }
  await rows(swap, ["agenT", "agent", idx]);
  await rows("UPDATE log_tiles SET hashes = CONCAT(REPEAT('x', 32), SUBSTRING(hashes, 33)) WHERE level = 0");
  for (const path of ["/log/tile/0/000.p/1", "/log/tile/entries/000.p/1", "/api/v1/log/entries/0/proof"]) {
    const reply = await other.rest(path);
    expect([path, reply.status, reply.body.error]).toEqual([path, 503, "unavailable"]);
  }
  expect((await fetch(`${other.url}/log/checkpoint`)).status).toBe(200);
});

it("while the log is frozen the board writes on, and a proof of what is new waits 5 seconds and then gets 503", async () => {
  const { db, rest, url, checkpoint } = frozen;
  expect(await frozen.reply).toMatchObject({
    status: 503,
    body: { error: "unavailable", message: "The log does not have this yet.", retry_after_seconds: 1 },
  });
  expect(await (await fetch(`${url}/log/checkpoint`)).text()).toBe(checkpoint);
  expect((await rest("/readyz")).body.warning).toMatch(
    /^The log is frozen, and nothing is added to it\. .* recover --log/,
  );
  // A text is compared with its newest commitment although other entries wait.
  await frozen.create("Another while it is frozen");
  expect(await db.rows("SELECT id FROM log_outbox")).not.toEqual([]);
  await db.rows("UPDATE posts SET body = 'The tortoise' WHERE id = ?", [frozen.post]);
  const { message } = (await rest(`posts/${frozen.post}/proof`)).body;
  expect(message).toBe(`The text of post ${frozen.post} contradicts what the log has committed to.`);
});
