// A database that was restored from a backup: the guard notices that receipts which were served are missing.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { HeadFolder, headFolder } from "../../../src/ledger/head-guard/head-folder.ts";
import { HeadGuard } from "../../../src/ledger/head-guard/head-guard.ts";
import { Ledger } from "../../../src/ledger/ledger.ts";
import { sealSession } from "../../../src/ledger/sealing/session.ts";
import { createDatabaseWithSchema, openStore } from "../../support/database.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import type { Service } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import { fill, headSeq, startLedger, TestClock, verifyLedger, warningOf } from "../support.ts";
import { cacheOf, type Guarded, headsIn, immutable, rewind, startGuarded, storedAt } from "./support.ts";

const gaugeOf = async ({ app }: Service) =>
  /^stoa_warning\{name="guard"\} (\d)$/m.exec(await (await fetch(app.metricsUrl as string)).text())?.[1];

const never = new AbortController().signal;
const refused = (words: RegExp) =>
  expect.objectContaining({ name: "ConnectError", rawMessage: expect.stringMatching(words) });

it.concurrent("it is served but neither a session nor a day is sealed, also after a restart, until it has every receipt again", async () => {
  const clock = new TestClock("2026-03-01T12:00:00Z");
  const served = await startGuarded(5, { lookMs: 100, clock });
  const { db, dataDir } = served;
  const { key } = await served.register();
  const { hash } = await storedAt(db, 5);
  const restore = await rewind(db, 3);
  const reason = new RegExp(`has served receipt 5 \\(hash ${hash}\\), and .* ends at receipt 3.*stoa -- recover`);
  // A replica that only reads notices it, too.
  await waitUntil("the warning", async () => (await warningOf(served)) !== undefined);
  const error = await served.seal().catch((error) => error);
  expect(error).toEqual(refused(reason));
  expect((error as ConnectError).code).toBe(Code.Unavailable);

  expect(await warningOf(served)).toMatch(reason);
  expect(await gaugeOf(served)).toBe("1");
  expect((await served.rest("posts", { key, body: { title: "The board goes on" } })).status).toBe(201);
  expect((await served.rest("house/receipts/3")).status).toBe(200);
  expect(await cacheOf(served, 2)).toBe("no-cache");
  expect(served.log.filter(({ msg }) => reason.test(String(msg)))).toHaveLength(1);
  expect(headsIn(dataDir)).toMatchObject([{ seq: 5 }]);

  clock.set("2026-03-02T00:00:05Z");
  await expect(served.sealDaily("2026-03-01")).rejects.toEqual(refused(reason));
  await waitUntil("the clock to be refused", () =>
    served.log.some(({ msg }) => /^nothing is sealed/.test(String(msg))),
  );

  const again = await startGuarded(1, { db, dataDir, lookMs: 100, clock });
  expect(await warningOf(again)).toContain("has served receipt 5");
  await expect(again.seal()).rejects.toEqual(refused(reason));
  expect(await db.rows("SELECT seq FROM receipts WHERE seq > 3")).toEqual([]);

  await restore();
  for (const service of [served, again]) {
    await waitUntil("the warning to go", async () => (await warningOf(service)) === undefined);
    await service.seal();
  }
  await waitUntil("the day", async () => (await db.rows("SELECT 1 FROM ledger_days")).length === 1);
  expect(await gaugeOf(served)).toBe("0");
  expect(await cacheOf(served, 2)).toBe(immutable);
  await verifyLedger(db);
});

/** A data folder of a replica that has served receipt 4 of another ledger, from the same database. */
async function dataFolderOfAnother(database: Guarded["db"]["config"]): Promise<string> {
  const dataDir = scratchFolder();
  const folder = headFolder({ dataDir, database });
  const record = { seq: 4, hash: "b".repeat(64), recoveries: [], ledger: "a".repeat(64), database: folder.database };
  await folder.write(record);
  return dataDir;
}

it.concurrent("it is noticed if it has another ledger", async () => {
  const db = await createDatabaseWithSchema();
  await fill(db, 1);
  const service = await startGuarded(1, { db, dataDir: await dataFolderOfAnother(db.config) });
  await expect(service.seal()).rejects.toEqual(refused(/has served receipt 4 .* ends at receipt 2/));
});

it.concurrent("it is refused at a start if it is empty", async () => {
  const db = await createDatabaseWithSchema();
  const dataDir = await dataFolderOfAnother(db.config);
  await expect(startLedger({ db, config: { dataDir } })).rejects.toThrow(
    /^The database is empty, and has had a ledger of 4 receipts\. Restore it from a backup; or remove .*\.json to begin/,
  );
  rmSync(join(dataDir, "heads"), { recursive: true });
  const again = await startLedger({ db, config: { dataDir } });
  expect((await again.seal()).seq).toBe(2n);
});

/** A ledger of four receipts or more. Tests restore what they remove. */
const ledger = await startGuarded(4);

it.each([
  ["as far as", 2],
  ["beyond", 4],
])("it is noticed after it has grown %s the served receipt", async (_, count) => {
  const { db } = ledger;
  const seq = await headSeq(db);
  const restore = await rewind(db, seq - 2);
  await fill(db, count);
  await expect(ledger.seal()).rejects.toEqual(refused(new RegExp(`the database has another receipt ${seq} now`)));
  // Nothing of this chain may be kept as immutable, although the replica has served receipts of these numbers.
  expect([await cacheOf(ledger, 1), await cacheOf(ledger, seq - 1)]).toEqual(["no-cache", "no-cache"]);
  await rewind(db, seq - 2);
  await restore();
  await ledger.seal();
});

it("no receipt of it is served as immutable, even before it is noticed", async () => {
  const { db } = ledger;
  const seq = await headSeq(db);
  const restore = await rewind(db, seq - 2);
  expect(await cacheOf(ledger, seq - 2)).toBe("no-cache");
  await fill(db, 2);
  expect(await cacheOf(ledger, seq - 1)).toBe("no-cache");
  await rewind(db, seq - 2);
  await restore();
  await ledger.seal();
});

it("it gets some time if it is only a late node of a cluster", async () => {
  const { db } = ledger;
  const database = openStore(db, 2);
  const log = pino({ level: "silent" });
  const folder = new HeadFolder(scratchFolder(), "a database");
  const guard = new HeadGuard({ db: database, folder, log, lookMs: 3_600_000 });
  onTestFinished(() => guard.stop());
  const shutdown = new AbortController();
  const own = await Ledger.open({ db: database, now: Date.now, log, guard, signal: shutdown.signal });
  const seq = await headSeq(db);
  const restore = await rewind(db, seq - 1);
  const { transaction } = database;
  let calls = 0;
  database.transaction = async (...args) => {
    // The seal and the check after it find the receipt missing. The second check finds it.
    if (++calls === 3) await restore();
    return transaction.apply(database, args) as never;
  };
  database.priority.transaction = (...args) => database.transaction(...args) as never;
  const actor = { agent: "operator", seat: "desk" };
  const session = { book: "late", session: "2026-01-05", note: "", source: "feed:test", evidence: {}, actor };
  const receipt = await own.sealer.write(never, (sealing) => sealSession(sealing, session));
  expect(receipt.seq).toBe(seq + 1);
  expect(calls).toBeGreaterThan(2);
  expect(guard.warning).toBeUndefined();
  shutdown.abort();
});
