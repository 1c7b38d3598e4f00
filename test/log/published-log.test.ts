// The checker of long runs: it accepts what two replicas publish, and names each fault.
import { beforeAll, expect, it } from "vitest";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { FakeLog, type FakeSite, startSite } from "../client/fake-log.ts";
import type { TestDatabase } from "../support/database.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { PublishedLog } from "../support/published-log.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

let db: TestDatabase;
let key: SignerKey;
let replicas: Service[];
let urls: string[];

beforeAll(async () => {
  const logged = await createLoggedDatabase();
  ({ db, key } = logged);
  const { boardLog } = logged;
  replicas = [await startService({ db, config: { boardLog } }), await startService({ db, config: { boardLog } })];
  urls = replicas.map(({ url }) => url);
  const { key: apiKey } = await (replicas[0] as Service).register();
  for (let at = 0; at < 300; at++) {
    await replicas[at % 2]?.rest("posts", { key: apiKey, body: { title: `Post ${at}` } });
  }
  await replicas[1]?.rest("posts/7", { key: apiKey, method: "DELETE" });
  await db.rows("DROP TRIGGER log_entries_are_not_updated");
});

/** Changes a value of a row, and puts the old one back after the check. A site publishes what was published before. */
async function changed(table: string, column: string, where: string, value: unknown, found: string): Promise<void> {
  const url = await siteOf(() => {});
  const [row] = await db.rows<Record<string, unknown>>(`SELECT ${column} FROM ${table} WHERE ${where}`);
  await db.rows(`UPDATE ${table} SET ${column} = ? WHERE ${where}`, [value]);
  try {
    expect(await new PublishedLog(db, () => [url]).faults()).toContain(found);
  } finally {
    await db.rows(`UPDATE ${table} SET ${column} = ? WHERE ${where}`, [row?.[column]]);
  }
}

it("accepts what two replicas publish, and what they have published meanwhile", async () => {
  const log = new PublishedLog(db, () => urls);
  for (let at = 0; at < 3; at++) {
    // A replica that does not answer within some seconds is not waited for.
    await waitUntil("both replicas answer", async () => (await log.look()).length === 2);
    await replicas[0]?.register();
  }
  expect(await log.faults()).toEqual([]);
});

it("names what differs in the database", async () => {
  await changed("log_entries", "entry", "idx = 9", "{}", "entry 9 is another one in the database");
  await changed("log_tiles", "hashes", "level = 0 AND n = 0", Buffer.alloc(8192), "tile 0/0 is wrong");
  await changed("posts", "title", "id = 3", "Another", "post 3 contradicts its newest commitment");
  await changed("posts", "salt", "id = 3", null, "post 3 is not in the log");
});

/** A site with another log, signed by the same key. */
async function siteOf(change: (site: FakeSite) => unknown): Promise<string> {
  const rows = await db.rows<{ entry: string }>("SELECT entry FROM log_entries ORDER BY idx");
  const site = await startSite(
    await FakeLog.of(
      rows.map(({ entry }) => entry),
      key,
    ),
  );
  await change(site);
  return site.url;
}

it("names a tree that was signed beside the log, and one that is lost", async () => {
  const forked = await siteOf(async (site) => {
    const entries = site.log.entries.map((entry) => Buffer.from(entry).toString());
    site.log = await FakeLog.of([...entries.slice(0, 99), "another"], key);
  });
  const longer = await siteOf(({ log }) => log.grow(["another"]));
  for (const [url, found] of [
    [forked, /^the log has signed another tree of 100 entries$/],
    [longer, /^the log has signed a tree of \d+ entries, and has \d+$/],
  ] as const) {
    const asked = [...urls, url];
    const log = new PublishedLog(db, () => asked);
    await waitUntil("all answer", async () => (await log.look()).length === 3);
    asked.pop();
    expect(await log.faults()).toEqual([expect.stringMatching(found)]);
  }
});

it("names a replica that publishes something bad", async () => {
  const isOf = (part: string) => (site: FakeSite) => {
    site.intercept = (path, response) => path.includes(part) && !!response.end(Buffer.alloc(8192));
  };
  const bentTile = await siteOf(isOf("tile/0/000"));
  const bentBundle = await siteOf(isOf("entries/000"));
  const log = new PublishedLog(db, () => [urls[0] as string, bentTile, bentBundle]);
  expect(await log.faults()).toEqual([
    `tile/0/000 of ${bentTile} is wrong or missing: 200`,
    expect.stringMatching(`^the mirror of ${bentBundle} has 0 of \\d+ entries: bad_bundle: `),
  ]);
  const unsigned = await siteOf((site) => {
    site.log.note = site.log.note.map((byte, at) => (at === site.log.note.length - 9 ? byte ^ 1 : byte));
  });
  const asked = [...urls, unsigned];
  const other = new PublishedLog(db, () => asked);
  // A note that is not good counts as no answer.
  await waitUntil("both others answer", async () => (await other.look()).length === 2);
  asked.pop();
  expect(await other.faults()).toEqual([expect.stringMatching(`^a checkpoint of ${unsigned} is not good: `)]);
});
