import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { HeadFolder } from "../../../src/ledger/head-guard/head-folder.ts";
import { HeadGuard } from "../../../src/ledger/head-guard/head-guard.ts";
import { startCuttingProxy } from "../../support/cutting-proxy.ts";
import { createDatabaseWithSchema, openStore, type TestDatabase } from "../../support/database.ts";
import { startGaleraRelay } from "../../support/galera-relay.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { waitUntil } from "../../support/wait.ts";
import { fill, headSeq, refusal, startLedger, unlockReceipts, verifyLedger, warningOf } from "../support.ts";
import { cacheOf, headsIn, immutable, rewind, startGuarded, storedAt } from "./support.ts";

const never = new AbortController().signal;

const ledger = await startGuarded(1);

/** A guard without a service. It looks at the head when it begins. */
async function beginGuard(db: TestDatabase, dataDir: string): Promise<HeadGuard> {
  const database = openStore(db, 2);
  const folder = new HeadFolder(dataDir, "a database");
  const guard = new HeadGuard({
    db: database,
    folder,
    log: pino({ level: "silent" }),
    lookMs: 3_600_000,
    storeMs: 100_000,
  });
  onTestFinished(() => guard.stop());
  await guard.begin(never);
  return guard;
}

describe("the head file", () => {
  it("names a receipt before its seal is acknowledged, and older files are removed", async () => {
    for (let count = 0; count < 3; count++) {
      const { seq, hash } = await ledger.seal();
      expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: Number(seq), hash, recoveries: [] }]);
    }
    await Promise.all(Array.from({ length: 8 }, () => ledger.seal()));
    const seq = await headSeq(ledger.db);
    expect(headsIn(ledger.dataDir)).toMatchObject([{ seq, hash: (await storedAt(ledger.db, seq)).hash }]);
  });

  it("names a receipt whose COMMIT got no answer, once another connection has found that it happened", async () => {
    const db = await createDatabaseWithSchema();
    const proxy = await startCuttingProxy((await startGaleraRelay(db.config)).config);
    const dataDir = scratchFolder();
    // What the service does by the clock would commit and look as well.
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const cut = await startLedger({
      db,
      config: { dataDir, database: proxy.config },
      overrides: { guardStoreMs: 100_000 },
    });
    vi.useRealTimers();
    proxy.cutAtText("COMMIT", "after");
    const { seq, hash } = await cut.seal();
    expect(proxy.wasCut()).toBe(true);
    expect(headsIn(dataDir)).toEqual([expect.objectContaining({ seq: Number(seq), hash })]);
  });

  it("follows receipts of other replicas that are served here, which clients may then cache", async () => {
    const seq = await headSeq(ledger.db);
    await fill(ledger.db, 3);
    expect(await cacheOf(ledger, seq)).toBe(immutable);
    expect(await cacheOf(ledger, seq + 2)).toBe("no-cache");
    await waitUntil("the head to be kept", () => headsIn(ledger.dataDir)[0]?.seq === seq + 3);
    await waitUntil("the receipt to be immutable", async () => (await cacheOf(ledger, seq + 2)) === immutable);
    expect(await cacheOf(ledger, seq + 3, "/canonical")).toBe(immutable);
    expect(await warningOf(ledger)).toBeUndefined();
  });

  it("is compared with the chain at the next start, also if it is older, and is written again if it was lost", async () => {
    const { app, db, dataDir } = await startGuarded(3);
    await app.close();
    await fill(db, 2);
    const unfinished = join(dataDir, "heads", "crashed.json.new");
    writeFileSync(unfinished, '{"v":1');
    utimesSync(unfinished, 0, 0);
    const again = await startGuarded(1, { db, dataDir });
    expect(headsIn(dataDir)).toMatchObject([{ seq: 5 }]);
    expect(existsSync(unfinished)).toBe(false);
    expect(await cacheOf(again, 5)).toBe(immutable);
    await again.seal();
    expect(await warningOf(again)).toBeUndefined();
    await again.app.close();

    rmSync(dataDir, { recursive: true });
    await rewind(db, 2);
    await beginGuard(db, dataDir);
    expect(headsIn(dataDir)).toMatchObject([{ seq: 2 }]);
  });

  it("may share its folder with those of other replicas and of another ledger", async () => {
    const { db, dataDir } = ledger;
    const first = await headSeq(ledger.db);
    const foreign = await startGuarded(2, { dataDir });
    const other = await startGuarded(1, { db, dataDir });
    for (let round = 0; round < 3; round++) {
      await Promise.all([ledger.seal(), other.seal(), ledger.seal(), other.seal(), foreign.seal()]);
    }
    const seqs = headsIn(dataDir).map(({ seq }) => seq);
    expect([seqs[0], seqs.at(-1)]).toEqual([5, first + 12]);
    await Promise.all([other.app.close(), foreign.app.close()]);
    const last = await startGuarded(1, { db, dataDir });
    expect(headsIn(dataDir).map(({ seq }) => seq)).toEqual([5, first + 12]);
    await last.seal();
    await verifyLedger(db);
  });

  it("that cannot be written is logged once, stops nothing, and is written by a later check", async () => {
    const dataDir = join(scratchFolder(), "file");
    writeFileSync(dataDir, "no folder");
    const service = await startGuarded(1, { db: ledger.db, dataDir, lookMs: 20 });
    const { seq } = await service.seal();
    expect(await warningOf(service)).toMatch(
      /is not remembered.*head files in .* cannot be written \(E\w+: [a-z ]+\)\.$/,
    );
    // One line says that files cannot be read, and one that they cannot be written.
    expect(service.log.filter(({ msg }) => /is not remembered/.test(String(msg)))).toHaveLength(2);
    expect(await cacheOf(service, 1)).toBe("no-cache");
    rmSync(dataDir);
    await waitUntil("the warning to go", async () => (await warningOf(service)) === undefined);
    expect(headsIn(dataDir)).toMatchObject([{ seq: Number(seq) }]);
    expect(await cacheOf(service, 1)).toBe(immutable);
  });

  it("never goes back to an older receipt that is stored late", async () => {
    const dataDir = scratchFolder();
    const guard = await beginGuard(ledger.db, dataDir);
    const newest = guard.storedHead;
    const { hash } = await storedAt(ledger.db, 3);
    await guard.storeSealed({ seq: 3, hash, recoveries: [] });
    expect([guard.storedHead, headsIn(dataDir)]).toMatchObject([newest as object, [newest as object]]);
  });

  it("is not written again after an operator's command has replaced it", async () => {
    const dataDir = scratchFolder();
    const guard = await beginGuard(ledger.db, dataDir);
    const newest = guard.storedHead;
    rmSync(join(dataDir, "heads"), { recursive: true });
    // A seal and a check may both store one receipt.
    await guard.storeSealed({ seq: newest?.seq as number, hash: newest?.hash as string, recoveries: [] });
    expect(existsSync(join(dataDir, "heads"))).toBe(false);
  });

  it("that cannot be read blocks sealing until it is moved away", async () => {
    const dataDir = scratchFolder();
    const { hash } = await storedAt(ledger.db, 1);
    const path = join(dataDir, "heads", `${hash.slice(0, 16)}-9-0123456789abcdef.json`);
    mkdirSync(join(dataDir, "heads"));
    writeFileSync(path, '{"v":1');
    writeFileSync(join(dataDir, "heads", "0000000000000000-9-0123456789abcdef.json"), "of another ledger");
    const service = await startGuarded(1, { db: ledger.db, dataDir, lookMs: 20 });
    expect(await refusal(service.seal())).toEqual({ code: "Unavailable", error: "unavailable" });
    expect(await warningOf(service)).toContain(`${path} cannot be read, and may name a receipt that was served`);
    rmSync(path);
    await waitUntil("the warning to go", async () => (await warningOf(service)) === undefined);
    await service.seal();
  });
});

it("a damaged row does not block sealing: a verification finds it", async () => {
  const seq = await headSeq(ledger.db);
  await fill(ledger.db, 1);
  const { hash } = await storedAt(ledger.db, seq);
  const setHash = (to: string) => ledger.db.rows("UPDATE receipts SET hash = ? WHERE seq = ?", [to, seq]);
  await unlockReceipts(ledger.db);
  await setHash(hash.replace(/^./, (c) => (c === "0" ? "1" : "0")));
  await ledger.seal();
  expect(await warningOf(ledger)).toBeUndefined();
  await setHash(hash);
});

it("a damaged newest row is not remembered, so that it can be repaired", async () => {
  const dataDir = scratchFolder();
  const seq = await headSeq(ledger.db);
  const { hash, canonical } = await storedAt(ledger.db, seq);
  const setBytes = (to: Buffer | string) =>
    ledger.db.rows("UPDATE receipts SET canonical = ? WHERE seq = ?", [to, seq]);
  await unlockReceipts(ledger.db);
  await setBytes("damaged");
  await beginGuard(ledger.db, dataDir);
  expect(existsSync(join(dataDir, "heads"))).toBe(false);
  await setBytes(canonical);
  await beginGuard(ledger.db, dataDir);
  expect(headsIn(dataDir)).toMatchObject([{ seq, hash }]);
});
