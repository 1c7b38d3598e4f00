import { existsSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { pino } from "pino";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { HeadFolder } from "../../../src/ledger/head-guard/head-folder.ts";
import { HeadGuard } from "../../../src/ledger/head-guard/head-guard.ts";
import { Ledger } from "../../../src/ledger/ledger.ts";
import { sealSession } from "../../../src/ledger/sealing/session.ts";
import { Database } from "../../../src/store/database/database.ts";
import { startCuttingProxy } from "../../support/cutting-proxy.ts";
import { createTestDatabase } from "../../support/database.ts";
import type { Service } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import { fill, startLedger, TestClock, unlockReceipts, verifyLedger } from "../support.ts";
import { dataFolder, headsIn, rewind, startGuarded, storedAt, warningOf } from "./support.ts";

const immutable = "public, max-age=31536000, immutable";
const cacheOf = async (service: { url: string }, seq: number, form = "") =>
  (await fetch(`${service.url}/api/v1/house/receipts/${seq}${form}`)).headers.get("cache-control");

const gaugeOf = async ({ app }: Service) =>
  /^stoa_warning\{name="guard"\} (\d)$/m.exec(await (await fetch(app.metricsUrl as string)).text())?.[1];

const never = new AbortController().signal;
const actor = { agent: "operator", seat: "desk" };
const session = { book: "late", session: "2026-01-05", note: "", source: "feed:test", evidence: {}, actor };
const refused = (words: RegExp) =>
  expect.objectContaining({ name: "ConnectError", rawMessage: expect.stringMatching(words) });

describe("the head file", () => {
  it("names a receipt before its seal is acknowledged, and older files are removed", async () => {
    const ledger = await startGuarded(1);
    expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: 1, recoveries: [] }]);
    for (let seq = 2; seq <= 4; seq++) {
      const { hash } = await ledger.seal();
      expect(headsIn(ledger.dataDir)).toEqual([expect.objectContaining({ seq, hash })]);
    }
    await Promise.all(Array.from({ length: 20 }, () => ledger.seal()));
    expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: 24, hash: (await storedAt(ledger.db, 24)).hash }]);
  });

  it("names a receipt whose COMMIT got no answer, once another connection has found that it happened", async () => {
    const db = await createTestDatabase();
    const [proxy, other] = [await startCuttingProxy(db.config), await startCuttingProxy(db.config)];
    const database = { ...proxy.config, others: [{ host: "127.0.0.1", port: other.config.port as number }] };
    const dataDir = dataFolder();
    // What the service does by the clock would commit and look as well.
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const ledger = await startLedger({ db, config: { dataDir, database } });
    vi.useRealTimers();
    proxy.cutAtText("COMMIT", "after");
    const { seq, hash } = await ledger.seal();
    expect(proxy.wasCut()).toBe(true);
    expect(headsIn(dataDir)).toEqual([expect.objectContaining({ seq: Number(seq), hash })]);
  });

  it("follows receipts of other replicas that are served here, which clients may then cache", async () => {
    const ledger = await startGuarded(2);
    await fill(ledger.db, 3);
    expect(await cacheOf(ledger, 2)).toBe(immutable);
    expect(await cacheOf(ledger, 4)).toBe("no-cache");
    await waitUntil("the head to be kept", () => headsIn(ledger.dataDir)[0]?.seq === 5);
    await waitUntil("the receipt to be immutable", async () => (await cacheOf(ledger, 4)) === immutable);
    expect(await cacheOf(ledger, 5, "/canonical")).toBe(immutable);
    expect(await warningOf(ledger)).toBeUndefined();
  });

  it("is compared with the chain at the next start, also if it is older", async () => {
    const ledger = await startGuarded(3);
    await ledger.app.close();
    await fill(ledger.db, 2);
    const unfinished = join(ledger.dataDir, "heads", "crashed.json.new");
    writeFileSync(unfinished, '{"v":1');
    utimesSync(unfinished, 0, 0);
    const again = await startGuarded(1, ledger);
    expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: 5 }]);
    expect(existsSync(unfinished)).toBe(false);
    await again.seal();
    expect(await warningOf(again)).toBeUndefined();
  });

  it("lets clients cache receipts after a restart as before", async () => {
    const ledger = await startGuarded(3);
    await ledger.app.close();
    const again = await startGuarded(1, ledger);
    expect(await cacheOf(again, 3)).toBe(immutable);
  });

  it("is written again after the data folder was lost", async () => {
    const ledger = await startGuarded(3);
    await ledger.app.close();
    rmSync(ledger.dataDir, { recursive: true });
    await rewind(ledger.db, 2);
    const again = await startGuarded(1, ledger);
    expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: 2 }]);
    await again.seal();
  });

  it("may share its folder with those of other replicas", async () => {
    const one = await startGuarded(2);
    const other = await startGuarded(1, one);
    for (let round = 0; round < 3; round++) {
      await Promise.all([one.seal(), other.seal(), one.seal(), other.seal()]);
    }
    const seqs = headsIn(one.dataDir).map(({ seq }) => seq);
    expect(seqs.at(-1)).toBe(14);
    await Promise.all([one.app.close(), other.app.close()]);
    const last = await startGuarded(1, one);
    expect(headsIn(one.dataDir)).toMatchObject([{ seq: 14 }]);
    await last.seal();
    await verifyLedger(one.db);
  });

  it("of another ledger in the same folder is ignored", async () => {
    const one = await startGuarded(5);
    const other = await startGuarded(2, { dataDir: one.dataDir });
    await other.seal();
    await one.seal();
    expect(headsIn(one.dataDir).map(({ seq }) => seq)).toEqual([3, 6]);
  });

  it("that cannot be written is logged once and stops nothing", async () => {
    const dataDir = join(dataFolder(), "file");
    writeFileSync(dataDir, "no folder");
    const ledger = await startGuarded(3, { dataDir });
    expect(await warningOf(ledger)).toMatch(
      /is not remembered.*head files in .* cannot be written \(E\w+: [a-z ]+\)\.$/,
    );
    expect(ledger.log.filter(({ msg }) => /is not remembered/.test(String(msg)))).toHaveLength(2);
    expect(await cacheOf(ledger, 1)).toBe("no-cache");
    rmSync(dataDir);
    await ledger.seal();
    expect(headsIn(dataDir)).toMatchObject([{ seq: 4 }]);
    expect(await warningOf(ledger)).toBeUndefined();
    expect(await cacheOf(ledger, 1)).toBe(immutable);
  });

  it("is written by the next check if a seal could not write it", async () => {
    const dataDir = join(dataFolder(), "file");
    writeFileSync(dataDir, "no folder");
    const ledger = await startGuarded(2, { dataDir, lookMs: 20 });
    rmSync(dataDir);
    await waitUntil("the warning to go", async () => (await warningOf(ledger)) === undefined);
    expect(headsIn(dataDir)).toMatchObject([{ seq: 2 }]);
  });

  it("never goes back to an older receipt that is stored late", async () => {
    const { app, db, dataDir } = await startGuarded(4);
    await app.close();
    const database = new Database({ address: db.config, connections: 2 });
    onTestFinished(() => database.close());
    const folder = new HeadFolder(dataDir, "a database");
    const guard = new HeadGuard({ db: database, folder, log: pino({ level: "silent" }), lookMs: 3_600_000 });
    onTestFinished(() => guard.stop());
    await guard.begin(never);
    const { hash } = await storedAt(db, 3);
    await guard.storeSealed({ seq: 3, hash, recoveries: [] });
    expect([guard.storedHead?.seq, headsIn(dataDir)]).toMatchObject([4, [{ seq: 4 }]]);
  });

  it("that cannot be read blocks sealing until it is moved away", async () => {
    const ledger = await startGuarded(2);
    await ledger.app.close();
    const { hash } = await storedAt(ledger.db, 1);
    const path = join(ledger.dataDir, "heads", `${hash.slice(0, 16)}-9-0123456789abcdef.json`);
    writeFileSync(path, '{"v":1');
    writeFileSync(join(ledger.dataDir, "heads", "0000000000000000-9-0123456789abcdef.json"), "of another ledger");
    const again = await startGuarded(1, { ...ledger, lookMs: 20 });
    await expect(again.seal()).rejects.toEqual(refused(/cannot be read, and may name a receipt that was served/));
    expect(await warningOf(again)).toContain(path);
    rmSync(path);
    await waitUntil("the warning to go", async () => (await warningOf(again)) === undefined);
    await again.seal();
  });
});

describe("a database that was restored from a backup", () => {
  it("is served but not sealed on until it has every receipt again", async () => {
    const ledger = await startGuarded(5, { lookMs: 20 });
    const { key } = await ledger.register();
    const { hash } = await storedAt(ledger.db, 5);
    const restore = await rewind(ledger.db, 3);
    const reason = new RegExp(`has served receipt 5 \\(hash ${hash}\\), and .* ends at receipt 3.*stoa -- recover`);
    const error = await ledger.seal().catch((error) => error);
    expect(error).toEqual(refused(reason));
    expect((error as ConnectError).code).toBe(Code.Unavailable);

    expect(await warningOf(ledger)).toMatch(reason);
    expect(await gaugeOf(ledger)).toBe("1");
    expect((await ledger.rest("posts", { key, body: { title: "The board goes on" } })).status).toBe(201);
    expect((await ledger.rest("house/receipts/3")).status).toBe(200);
    expect(await cacheOf(ledger, 2)).toBe("no-cache");
    expect(ledger.log.filter(({ msg }) => reason.test(String(msg)))).toHaveLength(1);
    expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: 5 }]);

    await restore();
    await waitUntil("the warning to go", async () => (await warningOf(ledger)) === undefined);
    expect(await gaugeOf(ledger)).toBe("0");
    await ledger.seal();
    expect(await cacheOf(ledger, 2)).toBe(immutable);
    await verifyLedger(ledger.db);
  });

  it("gets no day sealed, neither by the clock nor by an operator", async () => {
    const clock = new TestClock("2026-03-01T12:00:00Z");
    const ledger = await startGuarded(3, { clock });
    const restore = await rewind(ledger.db, 2);
    clock.set("2026-03-02T00:00:05Z");
    await expect(ledger.sealDaily("2026-03-01")).rejects.toEqual(refused(/has served receipt 3 .* ends at receipt 2/));
    await waitUntil("the clock to be refused", () =>
      ledger.log.some(({ msg }) => /^nothing is sealed/.test(String(msg))),
    );
    expect(await ledger.db.rows("SELECT seq FROM receipts WHERE seq > 2")).toEqual([]);
    await restore();
    expect((await ledger.sealDaily("2026-03-01")).seq).toBe(4n);
  });

  it("is noticed at a start, and by a replica that only reads", async () => {
    const ledger = await startGuarded(4, { lookMs: 20 });
    await rewind(ledger.db, 2);
    await waitUntil("the warning", async () => (await warningOf(ledger))?.includes("receipt 4") === true);
    await ledger.app.close();
    const again = await startGuarded(1, ledger);
    expect(await warningOf(again)).toContain("has served receipt 4");
    await expect(again.seal()).rejects.toEqual(refused(/ends at receipt 2/));
    expect(await ledger.db.rows("SELECT seq FROM receipts WHERE seq > 2")).toEqual([]);
  });

  it.each([
    ["as far as", 2],
    ["beyond", 4],
  ])("is noticed after it has grown %s the served receipt", async (_, count) => {
    const ledger = await startGuarded(4);
    await rewind(ledger.db, 2);
    await fill(ledger.db, count);
    await expect(ledger.seal()).rejects.toEqual(refused(/the database has another receipt 4 now/));
    // Nothing of this chain may be kept as immutable, although the replica has served receipts of these numbers.
    expect([await cacheOf(ledger, 1), await cacheOf(ledger, 3)]).toEqual(["no-cache", "no-cache"]);
  });

  it("serves no receipt as immutable, even before it is noticed", async () => {
    const ledger = await startGuarded(4);
    await rewind(ledger.db, 2);
    expect(await cacheOf(ledger, 2)).toBe("no-cache");
    await fill(ledger.db, 2);
    expect(await cacheOf(ledger, 3)).toBe("no-cache");
  });

  it("gets some time if it is only a late node of a cluster", async () => {
    const { app, db } = await startGuarded(4);
    await app.close();
    const database = new Database({ address: db.config, connections: 2 });
    onTestFinished(() => database.close());
    const log = pino({ level: "silent" });
    const folder = new HeadFolder(dataFolder(), "a database");
    const guard = new HeadGuard({ db: database, folder, log, lookMs: 3_600_000 });
    onTestFinished(() => guard.stop());
    const shutdown = new AbortController();
    const ledger = await Ledger.open({ db: database, now: Date.now, log, guard, signal: shutdown.signal });
    const restore = await rewind(db, 3);
    const { transaction } = database;
    let calls = 0;
    database.transaction = async (...args) => {
      // The seal and the check after it find the receipt missing. The second check finds it.
      if (++calls === 3) await restore();
      return transaction.apply(database, args) as never;
    };
    database.priority.transaction = (...args) => database.transaction(...args) as never;
    const receipt = await ledger.sealer.transaction(never, (sealing) => sealSession(sealing, session));
    expect([receipt.seq, calls]).toEqual([5, 4]);
    expect(guard.warning).toBeUndefined();
    shutdown.abort();
  });

  it("is noticed if it has another ledger", async () => {
    const one = await startGuarded(4);
    await one.app.close();
    const other = await startGuarded(2);
    await other.app.close();
    await one.db.rows("DROP TRIGGER IF EXISTS receipts_are_not_deleted");
    await one.db.rows("DELETE FROM receipts");
    for (const seq of [1, 2]) await one.db.rows("INSERT INTO receipts SET ?", [await storedAt(other.db, seq)]);
    await one.db.rows("UPDATE ledger_head SET seq = 2, hash = (SELECT hash FROM receipts WHERE seq = 2)");
    const again = await startGuarded(1, one);
    await expect(again.seal()).rejects.toEqual(refused(/has served receipt 4 .* ends at receipt 2/));
  });

  it("is refused at a start if it is empty", async () => {
    const { app, db, dataDir } = await startGuarded(1);
    await app.close();
    await db.rows("DELETE FROM ledger_epoch");
    await db.rows("DELETE FROM receipts");
    await db.rows("UPDATE ledger_head SET seq = 0, hash = REPEAT('0', 64), ts = 0");
    await expect(startLedger({ db, config: { dataDir } })).rejects.toThrow(
      /^The database is empty, and has had a ledger of 1 receipts\. Restore it from a backup; or remove .*\.json to begin/,
    );
    rmSync(join(dataDir, "heads"), { recursive: true });
    const again = await startLedger({ db, config: { dataDir } });
    expect((await again.seal()).seq).toBe(2n);
  });
});

it("a damaged newest row is not remembered, so that it can be repaired", async () => {
  const ledger = await startGuarded(2);
  await ledger.app.close();
  await fill(ledger.db, 1);
  const { hash, canonical } = await storedAt(ledger.db, 3);
  await ledger.db.rows("UPDATE receipts SET canonical = 'damaged' WHERE seq = 3");
  await (await startGuarded(1, ledger)).app.close();
  expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: 2 }]);
  // The start has created the triggers again.
  await unlockReceipts(ledger.db);
  await ledger.db.rows("UPDATE receipts SET canonical = ? WHERE seq = 3", [canonical]);
  await startGuarded(1, ledger);
  expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: 3, hash }]);
});

it("a damaged row does not block sealing: a verification finds it", async () => {
  const ledger = await startGuarded(4);
  await fill(ledger.db, 1);
  const { hash } = await storedAt(ledger.db, 4);
  await ledger.db.rows("UPDATE receipts SET hash = ? WHERE seq = 4", [
    hash.replace(/^./, (c) => (c === "0" ? "1" : "0")),
  ]);
  await ledger.seal();
  expect(await warningOf(ledger)).toBeUndefined();
});
