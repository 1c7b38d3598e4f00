// A backup from before the log is restored: the log that was published goes on, and no second one begins beside it.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { Ledger } from "../../src/ledger/ledger.ts";
import { makeKey } from "../../src/log/key-file.ts";
import { formatSignerKey } from "../../src/tlog/notes/signer-key.ts";
import { TestClock, verifyLedger } from "../ledger/support.ts";
import { operateWith } from "../operator/support.ts";
import { createTestDatabase, openStore, type TestDatabase } from "../support/database.ts";
import { beginTestLog, publishAll, startLogReplica, untilPublished } from "../support/log.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const file = join(scratchFolder(), "backup.sql");
/** Of the replica that has published the log. */
const dataDir = scratchFolder();

/** Gives a data folder the key of the log. */
function withKey(path = scratchFolder()): string {
  mkdirSync(join(path, "log"));
  writeFileSync(join(path, "log", "key"), `${formatSignerKey(key)}\n`, { mode: 0o600 });
  return path;
}

/** A copy of the data folder that has published the log. */
function copy(): string {
  const path = scratchFolder();
  cpSync(dataDir, path, { recursive: true });
  return path;
}

async function textsOf(db: TestDatabase): Promise<string[]> {
  return (await db.rows<{ entry: string }>("SELECT entry FROM log_entries ORDER BY idx")).map(({ entry }) => entry);
}

const run = (db: TestDatabase, dataDir: string, ...args: string[]) =>
  operateWith({ STOA_DATABASE_URL: urlOf(db.config), STOA_DATA_DIR: dataDir }, args);

async function restore(dataDir: string, backup = file): Promise<TestDatabase> {
  const db = await createTestDatabase();
  expect(await run(db, dataDir, "restore", backup)).toMatchObject({ status: 0, notes: [] });
  return db;
}

/** The warning of a replica that begins no log. */
async function warningOf(db: TestDatabase, dataDir: string): Promise<string> {
  const { app, rest } = await startService({ db, config: { dataDir } });
  const { warning } = (await rest("/readyz")).body;
  await app.close();
  expect(await db.rows("SELECT * FROM log_identity")).toEqual([]);
  return warning;
}

/** Checks that a replica goes on with the log, and that everything that stands comes into it. */
async function expectToGoOn(db: TestDatabase, dataDir: string): Promise<void> {
  const { app, rest, url } = await startService({ db, config: { dataDir } });
  await untilPublished({ db, url });
  expect((await rest("/readyz")).body.warning).toBeUndefined();
  expect((await fetch(`${url}/api/v1/agents/Zeno/proof`)).status).toBe(200);
  await app.close();
  const { out } = await run(db, dataDir, "fsck");
  expect(out.filter((line) => /log_|salt/.test(line))).toEqual([]);
}

const before = await startService();
const { db } = before;
const [server] = await db.rows<{ version: string }>("SELECT VERSION() AS version");
const isMariaDB = server?.version.includes("MariaDB") === true;
const author = await before.register("Zeno");
await before.rest("posts", { key: author.key, body: { title: "Before", body: "one" } });
await before.app.close();
expect((await run(db, scratchFolder(), "backup", file)).status).toBe(0);
const key = await beginTestLog(db);
const { app, rest } = await startService({ db });
await rest("posts", { key: author.key, body: { title: "After", body: "two" } });
await app.close();
// A service would wait for a second before it takes the log over.
const replica = await startLogReplica(db.config, key, withKey(dataDir));
await publishAll(db, replica);
await replica.publisher.stop();
const published = await textsOf(db);

// Each has a database of its own, and they mostly wait: for other processes, and for replicas that take a log over.
describe.concurrent("a restored backup from before the log", () => {
  it("recover --log puts all of it back, and it goes on", async () => {
    const dataDir = copy();
    const db = await restore(dataDir);
    expect(await warningOf(db, dataDir)).toMatch(
      /log folder \S+ is of a log, and the database has none.* recover --log/,
    );
    const anew = await run(db, dataDir, "recover", "--log", "--begin-anew", "stoa.test/log2");
    expect([anew.status, anew.notes.join()]).toEqual([3, expect.stringMatching(/run recover --log first/)]);
    const { status, out } = await run(db, dataDir, "recover", "--log");
    expect([status, out[0]]).toEqual([
      0,
      expect.stringMatching(`put back the entries 1 to ${published.length - 1} from`),
    ]);
    expect((await textsOf(db)).slice(0, -1)).toEqual(published);
    await expectToGoOn(db, dataDir);
  });

  it("no day is sealed without the log before it is put back", async () => {
    const db = await restore(dataDir);
    const database = openStore(db, 2);
    const clock = new TestClock(new Date(Date.now() + 86_400_000).toISOString());
    const { days } = await Ledger.open({ db: database, now: clock.now, log: pino({ level: "silent" }) });
    const { signal } = new AbortController();
    await expect(days.sealDue(signal)).rejects.toThrow(/No day is sealed .* recover --log/);
    expect((await run(db, copy(), "recover", "--log")).status).toBe(0);
    await days.sealDue(signal);
    const daily = (await verifyLedger(db)).find(({ body }) => body.type === "daily");
    expect(daily?.evidence.log).toMatchObject({ origin: key.name, size: published.length });
  });

  it("a replica with the key and without the folder begins no second log, and puts it back from another folder", async () => {
    const keyed = withKey();
    const db = await restore(keyed);
    expect(await warningOf(db, keyed)).toMatch(/A log may have been published.* recover --log/);
    const refused = await run(db, keyed, "recover", "--log");
    expect([refused.status, refused.notes.join()]).toEqual([3, expect.stringMatching(/--as-is/)]);
    const from = ["--from", join(dataDir, "log"), "--as-is"];
    expect((await run(db, keyed, "recover", "--log", ...from)).out[0]).toMatch(/^put back the entries 1 to/);
    expect((await textsOf(db)).slice(0, -1)).toEqual(published);
    await expectToGoOn(db, keyed);
  });

  it("the key may be lost: the folder names it, and the log that begins anew names this one", async () => {
    const keyless = copy();
    rmSync(join(keyless, "log", "key"));
    const db = await restore(keyless);
    expect((await run(db, keyless, "recover", "--log")).out[0]).toMatch(/^put back the entries 1 to/);
    expect((await textsOf(db)).slice(0, -1)).toEqual(published);
    const fresh = await makeKey("stoa.test/log2");
    writeFileSync(join(keyless, "log", "key"), `${formatSignerKey(fresh)}\n`, { mode: 0o600 });
    expect((await run(db, keyless, "recover", "--log", "--begin-anew", fresh.name)).status).toBe(0);
    const [first = ""] = await textsOf(db);
    expect(JSON.parse(first).previous).toMatchObject({ origin: key.name, size: published.length });
  });

  it("a folder that is damaged, or of another key, stays as it is, and the database without a log", async () => {
    const [damaged, other, both] = [copy(), copy(), copy()];
    rmSync(join(damaged, "log", "entries", "000000"));
    writeFileSync(join(other, "log", "key"), `${formatSignerKey(await makeKey("stoa.test/log2"))}\n`);
    for (const name of ["key", "entries/000000"]) rmSync(join(both, "log", name));
    const db = await restore(dataDir);
    for (const [path, why] of [
      [damaged, /entries are lost, and the log folder is damaged/],
      [other, /cannot give it one/],
      [both, /has the log's key or its folder/],
    ] as const) {
      const { status, notes } = await run(db, path, "recover", "--log", "--as-is");
      expect([status, notes.join()]).toEqual([3, expect.stringMatching(why)]);
      expect(existsSync(join(path, "log", "checkpoint"))).toBe(true);
    }
    expect(await db.rows("SELECT * FROM log_identity")).toEqual([]);
  });

  it("the log of another board is not put into it", async () => {
    const [other, db] = [withKey(), await restore(dataDir)];
    const board = await startService({ config: { dataDir: other } });
    const published = "SELECT 1 FROM log_head WHERE receipts = 1 AND signed = size";
    await waitUntil("its first receipt in the log", async () => (await board.db.rows(published)).length === 1);
    await board.app.close();
    const { status, notes } = await run(db, other, "recover", "--log");
    expect([status, notes.join()]).toEqual([3, expect.stringMatching(/has the log of another board$/)]);
    expect(await db.rows("SELECT * FROM log_identity")).toEqual([]);
  });

  it("a replica without key and folder restores a backup from before the log's tables, and no second log begins", async () => {
    const name = isMariaDB ? "mariadb-10.11.sql" : "mysql-9.7.sql";
    const early = new URL(`../vectors/backup/${name}`, import.meta.url).pathname;
    expect(readFileSync(early, "utf8")).not.toContain("log_head");
    const db = await restore(scratchFolder(), early);
    expect(await warningOf(db, withKey())).toMatch(/A log may have been published.* recover --log/);
    // The backup is of another board. Its first receipt becomes that of this one.
    const genesis = published.map((entry) => JSON.parse(entry)).find(({ seq }) => seq === 1);
    await db.rows("DROP TRIGGER receipts_are_not_updated");
    await db.rows("UPDATE receipts SET hash = ? WHERE seq = 1", [genesis.hash]);
    const { out } = await run(db, copy(), "recover", "--log");
    expect(out[0]).toMatch(`put back the entries 1 to ${published.length - 1} from`);
    expect((await textsOf(db)).slice(0, -1)).toEqual(published);
  });

  it("a board that never had a log begins one after a restore by the operator's word, with the key or without", async () => {
    const [db, keyed] = [await restore(scratchFolder()), withKey()];
    expect(await warningOf(db, keyed)).toMatch(/A log may have been published.* recover --log/);
    for (const recovering of [scratchFolder(), withKey()]) {
      await db.rows("UPDATE log_head SET restored = 1");
      expect((await run(db, recovering, "recover", "--log")).status).toBe(3);
      const { out } = await run(db, recovering, "recover", "--log", "--as-is");
      expect(out).toEqual(["the database has no log: a start with a key begins one"]);
    }
    await startService({ db, config: { dataDir: keyed } });
    expect(await db.rows("SELECT origin FROM log_identity")).toEqual([{ origin: key.name }]);
  });
});
