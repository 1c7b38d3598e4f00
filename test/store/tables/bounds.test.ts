// What one agent or one thing piles up does not make a statement read more. The engines count the rows that they read.
import { expect, it } from "vitest";
import type { Tx } from "../../../src/store/database/queryable.ts";
import { sweepDue } from "../../../src/store/tables/idempotency-replies.ts";
import { listItemsAbout, maxMarked, putReadUpTo } from "../../../src/store/tables/inboxes.ts";
import { listModerations } from "../../../src/store/tables/moderations.ts";
import { endStandings, listModerated } from "../../../src/store/tables/moderators.ts";
import { listDue, listDueAgents, listMissing, listNewest } from "../../../src/store/tables/news.ts";
import { closeReportsAbout, isVersionReported, listOpenReports } from "../../../src/store/tables/reports.ts";
import { measure } from "../../support/cost.ts";
import { createDatabaseWithSchema, openStore, type TestDatabase } from "../../support/database.ts";

/** Enough for each of these statements to exceed its bound if it read everything. */
const size = 20_000;
const far = Number.MAX_SAFE_INTEGER;
const { signal } = new AbortController();

const test = await createDatabaseWithSchema();
const db = openStore(test, 1);
await fill(test);

/** Everything is about agent 1, post 1 and community 1, and nothing matches two filters at once. */
async function fill({ pool }: TestDatabase): Promise<void> {
  const digits = Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS d`).join(" UNION ALL ");
  const places = ["a", "b", "c", "e", "f"].map((name, power) => ({ name, value: `${name}.d * ${10 ** power}` }));
  await pool.query(
    `CREATE TABLE numbers AS SELECT 1 + ${places.map(({ value }) => value).join(" + ")} AS n
     FROM ${places.map(({ name }) => `(${digits}) ${name}`).join(", ")} HAVING n <= ${size}`,
  );
  const insert = (into: string, values: string) =>
    pool.query(`INSERT INTO ${into} SELECT ${values} FROM numbers WHERE n > 1`);
  await insert(
    "agents (id, name, name_key, bio, key_hash, created_at)",
    "n, CONCAT('a-', n), CONCAT('a-', n), '', LPAD(n, 32, '-'), 0",
  );
  await insert(
    "communities (id, name, title, description, created_by, created_at)",
    "n, CONCAT('c', n), '', '', 1 + MOD(n, 2), 0",
  );
  await insert("community_moderators (community_id, agent_id, standing)", "n, 1, 0");
  const report = "reports (item, item_id, post_id, community_id, agent_id, reason, note, created_at, is_open)";
  await insert(report, `'post', 1, 1, 1, n, 'spam', '', n, n > ${size - 1_000}`);
  await insert(report, "'post', n, n, n, 1, 'spam', '', n, 1");
  await insert(
    "moderations (id, role, act, item, item_id, created_at)",
    "n, IF(MOD(n, 2), 'operator', 'moderator'), IF(MOD(n, 2), 'lock', 'unlock'), 'post', 1, n",
  );
  await insert("inbox_items (agent_id, id, type, post_id, created_at)", "1, n, 'mention', 1, 0");
  await insert("inbox_items (agent_id, id, type, post_id, created_at)", "2, n, 'moderation', 2, 0");
  await pool.query("INSERT INTO inboxes (agent_id, newest, read_up_to, unread) VALUES (1, ?, 0, ?)", [size, size]);
  // One community and one agent with all posts, one thread with all comments; agent 3 follows them and what there is not.
  await insert("posts (id, community_id, author_id, title, body, created_at)", "n, 2, 2, '', '', n");
  await insert("comments (post_id, author_id, body, created_at)", "2, 2, '', n");
  await insert("inbox_items (agent_id, id, type, post_id, created_at)", "n, 1, 'subscription', 3, 0");
  for (const [kind, target] of [
    ["'communities'", 2],
    ["'threads'", 2],
    ["'agents'", 2],
    ["'threads'", "n + 1000000"],
  ]) {
    await pool.query(`INSERT IGNORE INTO subscriptions SELECT 3, ${kind}, ${target}, 0, 0 FROM numbers WHERE n < 198`);
  }
  await insert(
    "idempotency_replies (id, fingerprint, sealed, created_at, due_at)",
    `LPAD(n, 32, '-'), LPAD(n, 32, '-'), 1, IF(n < ${size - 5}, 100, 0), n`,
  );
}

const acts = (filter: Parameters<typeof listModerations>[1]) => (tx: Tx) => listModerations(tx, filter, far, 100);
/** How many rows each reads at most. The engines read some of the rows several times: in an index, to sort, to change. */
const cases: [what: string, most: number, run: (tx: Tx) => Promise<unknown>][] = [
  ["to mark nearly a whole inbox as read", 30_000, (tx) => putReadUpTo(tx, 1, inbox, size - 1)],
  ["the items about a post that was moderated often", 100, (tx) => listItemsAbout(tx, { postId: 2, commentId: null })],
  ["the acts of one kind", 500, acts({ act: "lock" })],
  ["acts by filters that exclude each other", 30_000, acts({ act: "lock", role: "moderator" })],
  ["acts for a reason that there never was", 100, acts({ act: "lock", reason: "spam" })],
  ["the acts about a post", 30_000, acts({ itemId: 1 })],
  ["acts about a post by another filter", 30_000, acts({ itemId: 1, reason: "spam", act: "lock" })],
  ["the open reports of a community", 1_000, (tx) => listOpenReports(tx, undefined, 101, [1])],
  ["the open reports of 200 communities", 10_000, (tx) => listOpenReports(tx, undefined, 101, ids(200))],
  ["whether a version is reported", 10, (tx) => isVersionReported(tx, { item: "post", item_id: 1 }, 0)],
  [
    "whether a version is reported for another reason",
    10,
    (tx) => isVersionReported(tx, { item: "post", item_id: 1 }, 0, ["illegal", "secret", "spam"]),
  ],
  ["the communities of a moderator of many", 5_000, (tx) => listModerated(tx, 2, 100)],
  ["to close some reports about a post", 1_000, (tx) => closeReportsAbout(tx, "post", 1, 1, 100)],
  ["to take some communities from a moderator", 2_000, (tx) => endStandings(tx, 1, size / 2, 100)],
  ["what is due of 200 subscriptions", 2_000, (tx) => listDue(tx, 3, far)],
  ["the agents that have something due", 2_000, (tx) => listDueAgents(tx, [3, 4, 5], far)],
  ["the newest of targets with many posts and comments", 2_000, (tx) => listNewest(tx, followed, 100)],
  ["what an inbox lacks about a post that many have an item about", 100, (tx) => listMissing(tx, 1, [third])],
  ["to sweep responses", 2_000, (tx) => sweepDue(tx, { now: far / 2, aliveSince: 50, lifetimeMs: 60 })],
];
const followed = (["communities", "threads", "agents"] as const).map((kind) => ({ kind, id: 2, since: 0 }));
const third = { item: "post" as const, id: 3, created_at: 3 };
const inbox = { newest: size, read_up_to: 0, unread: size };
const ids = (count: number) => Array.from({ length: count }, (_, n) => 2 + n);

it.each(cases)("reads a bounded number of rows: %s", { timeout: 60_000 }, async (_what, most, run) => {
  const cost = await db.transaction(signal, (tx) => measure(tx, () => run(tx)));
  expect(cost.reads + cost.sorted).toBeLessThanOrEqual(most);
});

it("finds all acts of two filters by pages, of which some are short", async () => {
  const found: number[] = [];
  const filter = { act: "lock", item: "post", role: "operator" };
  for (let before: number | undefined = far; before !== undefined; ) {
    const page = await listModerations(db.reader(signal), filter, before, 1_000);
    found.push(...page.rows.map(({ id }) => id));
    before = page.next;
  }
  expect(found).toEqual(Array.from({ length: size / 2 - 1 }, (_, n) => size - 1 - 2 * n));
});

it("marks a large inbox as read in steps", async () => {
  const left: number[] = [];
  for (let at = 0; left.at(-1) !== 10; at += maxMarked) {
    left.push(
      await db.transaction(signal, (tx) =>
        putReadUpTo(tx, 1, { ...inbox, read_up_to: at + 1, unread: size - 1 - at }, size - 10),
      ),
    );
  }
  expect(left).toEqual([9_999, 10]);
});
