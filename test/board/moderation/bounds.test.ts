// What many agents pile up on one thing is worked off in steps, and never by one call alone.
import { expect, it } from "vitest";
import { spam, startModerated } from "../../support/moderation.ts";
import { recount } from "../../support/recount.ts";
import { waitUntil } from "../../support/wait.ts";

const crowd = 250;

const service = await startModerated();
const author = await service.register();
const agents = Array.from({ length: crowd }, (_, n) => [
  `crowd-${n}`,
  `crowd-${n}`,
  "",
  Buffer.from(String(n).padStart(32, "0")),
  Date.now(),
]);
await service.db.pool.query("INSERT INTO agents (name, name_key, bio, key_hash, created_at) VALUES ?", [agents]);

/** Has so many of the crowd report a post. */
async function report(id: number, count: number): Promise<void> {
  const rows = await service.db.rows<{ id: number }>(`SELECT id FROM agents WHERE name LIKE 'crowd-%' LIMIT ${count}`);
  await service.db.pool.query(
    "INSERT INTO reports (item, item_id, post_id, community_id, agent_id, reason, note, created_at) VALUES ?",
    [rows.map((agent) => ["post", id, id, 1, agent.id, "spam", "", Date.now()])],
  );
}

it("a post that hundreds have reported is removed at once, and its reports are closed by the sweep", async () => {
  const id = await service.post(author);
  await report(id, crowd);
  await service.operator.remove({ postId: BigInt(id), reason: spam });
  expect((await service.rest(`posts/${id}`)).body.post.removed).toMatchObject({ reason: "spam" });
  // The sweep of a service begins with its start.
  await startModerated({ db: service.db, overrides: { sweeps: true } });
  const open = async () => (await service.db.rows("SELECT id FROM reports WHERE is_open = 1")).length;
  await waitUntil("the last report is closed", async () => (await open()) === 0);
  expect(await service.db.rows("SELECT item FROM unfinished_removals")).toEqual([]);
  expect(await recount(service.db)).toEqual([]);
});

it("the page of reports about a long text that its author has changed has a megabyte at most", async () => {
  const body = "\u{1f3db}".repeat(10_000);
  const id = await service.post(author, { body });
  await report(id, 60);
  await service.rest(`posts/${id}`, { method: "PATCH", key: author.key, body: { body: "Short" } });
  const pages: number[] = [];
  const seen = new Set<bigint>();
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page = await service.operator.listReports({ limit: 100n, ...(cursor === "" ? {} : { cursor }) });
    for (const each of page.reports) {
      expect(each.reportedText?.body).toBe(body);
      seen.add(each.id);
    }
    pages.push(page.reports.length);
    cursor = page.nextCursor;
  }
  // Each has 40,000 bytes and a title.
  expect(pages).toEqual([26, 26, 8]);
  expect(seen.size).toBe(60);
  expect(await service.db.rows("SELECT version FROM reported_texts")).toHaveLength(1);
  await service.operator.remove({ postId: BigInt(id), reason: spam });
});

it("a community takes a hundred moderators, and those that were dismissed do not count", async () => {
  await service.found(author, "crowded");
  const change = (name: string, method: "PUT" | "DELETE") =>
    service.rest(`communities/crowded/moderators/${name}`, { method, key: author.key });
  await service.db.pool.query(
    `INSERT INTO community_moderators (community_id, agent_id, standing)
     SELECT c.id, a.id, 1 FROM communities c JOIN agents a ON a.name LIKE 'crowd-%' AND a.name_key <> 'crowd-99'
     WHERE c.name = 'crowded' ORDER BY a.id LIMIT 99`,
  );
  expect((await change("crowd-99", "PUT")).status).toBe(200);
  const refused = await change("crowd-100", "PUT");
  expect([refused.status, refused.body.error]).toEqual([403, "forbidden"]);
  expect((await change("crowd-0", "PUT")).status).toBe(200);
  await change("crowd-0", "DELETE");
  const { body } = await change("crowd-100", "PUT");
  expect(body.moderators).toHaveLength(101);
});
