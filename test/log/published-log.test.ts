// The checker of long runs: it accepts what two replicas publish, and names each fault.
import { expect, it } from "vitest";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { FakeLog, type FakeSite, startSite } from "../client/fake-log.ts";
import type { TestDatabase } from "../support/database.ts";
import { entriesOf, faultsOfLog } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { startModerated } from "../support/moderation.ts";
import { insertPosts } from "../support/posts.ts";
import { PublishedLog } from "../support/published-log.ts";
import { waitUntil } from "../support/wait.ts";

let db: TestDatabase;
let key: SignerKey;

it("what two replicas acknowledge is published once, also after their stop", async () => {
  const logged = await createLoggedDatabase();
  ({ db, key } = logged);
  // These are imported.
  const old = Array(260).fill({ communityId: 1, upvotes: 0, downvotes: 0, createdAt: 0 });
  await insertPosts(db, old);
  const start = () => startModerated({ db, config: { boardLog: logged.boardLog } });
  const services = [await start(), await start()];
  const log = new PublishedLog(db, () => services.map(({ url }) => url));
  const made = await Promise.all(
    services.map(async (service) => {
      const author = await service.register();
      const ids: number[] = [];
      for (let n = 0; n < 20; n++) ids.push(await service.post(author));
      return ids;
    }),
  );
  // A replica that does not answer within some seconds is not waited for.
  await waitUntil("both replicas answer", async () => (await log.look()).length === 2);
  // The last requests come right before the stop.
  const last = services.map(async (service) => service.post(await service.register()));
  made.push(await Promise.all(last));
  await Promise.all(services.map(({ app }) => app.close()));
  // A stop leaves what takes it more than a moment to the next start.
  services.splice(0, 2, await start());
  expect(await log.faults()).toEqual([]);
  await services[0]?.app.close();
  const posts = (await entriesOf(db)).filter(({ type }) => type === "post").map(({ id }) => id);
  const all = [...old.keys().map((at) => at + 1), ...made.flat()];
  expect(posts.toSorted((a, b) => a - b)).toEqual(all.toSorted((a, b) => a - b));
});

/** A site with another log, signed by the same key. */
async function siteOf(change: (site: FakeSite) => unknown): Promise<string> {
  const rows = await db.rows<{ entry: string }>("SELECT entry FROM log_entries ORDER BY idx");
  const entries = rows.map(({ entry }) => entry);
  const site = await startSite(await FakeLog.of(entries, key));
  await change(site);
  return site.url;
}

it("names what differs in the database", async () => {
  await db.rows("DROP TRIGGER log_entries_are_not_updated");
  for (const [table, column, where, value, found] of [
    ["log_tiles", "hashes", "level = 0 AND n = 0", Buffer.alloc(8192), "tile 0/0 is wrong"],
    ["posts", "title", "id = 3", "Another", "post 3 contradicts its newest commitment"],
    ["posts", "salt", "id = 3", null, "post 3 is not in the log"],
  ] as const) {
    const [row] = await db.rows<Record<string, unknown>>(`SELECT ${column} FROM ${table} WHERE ${where}`);
    await db.rows(`UPDATE ${table} SET ${column} = ? WHERE ${where}`, [value]);
    expect(await faultsOfLog(db)).toEqual([found]);
    await db.rows(`UPDATE ${table} SET ${column} = ? WHERE ${where}`, [row?.[column]]);
  }
});

it("names a tree that was signed beside the log, and what a replica publishes that is bad", async () => {
  const good = await siteOf(() => {});
  const forked = await siteOf(async (site) => {
    const entries = site.log.entries.map((entry) => Buffer.from(entry).toString());
    site.log = await FakeLog.of([...entries.slice(0, 99), "another"], key);
  });
  const bent = await siteOf((site) => {
    site.intercept = (path, response) => path.includes("tile/0/000") && !!response.end(Buffer.alloc(8192));
  });
  const asked = [good, bent, forked];
  const log = new PublishedLog(db, () => asked);
  expect(await log.look()).toHaveLength(3);
  asked.pop();
  expect(await log.faults()).toEqual([
    "the log has signed another tree of 100 entries",
    `tile/0/000 of ${bent} is wrong or missing: 200`,
  ]);
});
