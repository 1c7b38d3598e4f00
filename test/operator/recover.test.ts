import { describe, expect, it } from "vitest";
import { verifyReceipts } from "../../src/client/receipts.ts";
import { compareHeads } from "../../src/ledger/head-guard/compare-heads.ts";
import { HeadFolder } from "../../src/ledger/head-guard/head-folder.ts";
import { headsIn, rewind, startGuarded, storedAt } from "../ledger/head-guard/support.ts";
import { fill, verifyLedger, warningOf } from "../ledger/support.ts";
import { openStore } from "../support/database.ts";
import { waitUntil } from "../support/wait.ts";
import { proposal, recover } from "./recover-support.ts";

async function verifiesFor(url: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { document } of verifyReceipts({ url })) types.push(document.body.type);
  return types;
}

// Each has a ledger of its own, and they mostly wait: for files, for the database and for starts.
describe.concurrent("stoa recover", () => {
  it("lets a ledger that ends too early continue, while the service runs", async () => {
    const ledger = await startGuarded(5, { lookMs: 20 });
    const other = await startGuarded(1, { db: ledger.db, lookMs: 20 });
    await other.rest("house/receipts/4");
    const lost = await storedAt(ledger.db, 5);
    await rewind(ledger.db, 3);
    await expect(other.seal()).rejects.toThrow(/has served receipt 5/);
    const { status, out } = await recover(ledger, ...(await proposal(ledger)));
    const recovery = await storedAt(ledger.db, 4);
    expect([status, out]).toEqual([0, [`sealed receipt 4, a recovery that abandons receipt 5: hash ${recovery.hash}`]]);
    expect(headsIn(ledger.dataDir)).toEqual([expect.objectContaining({ seq: 4, recoveries: [recovery.hash] })]);
    const { hash: before } = await storedAt(ledger.db, 3);
    expect(JSON.parse(recovery.canonical.toString()).body).toEqual({
      type: "recovery",
      count: 3,
      head: before,
      abandoned_seq: 5,
      abandoned_hash: lost.hash,
      note: "The disk of the database died.",
    });
    // It says nothing to a replica that has read the head before the recovery, and reads the recoveries after it.
    const served = { seq: 5, hash: lost.hash, recoveries: [] };
    const read = openStore(ledger.db, 1).reader(new AbortController().signal);
    expect(await compareHeads(read, { seq: 3, hash: before }, [served])).toEqual({
      missing: [{ head: served, kind: "truncated" }],
      recoveries: [],
    });
    // Both replicas accept the chain that the recovery names, without a restart.
    for (const service of [ledger, other]) {
      await waitUntil("no warning", async () => (await warningOf(service)) === undefined);
      await service.seal();
    }
    expect(headsIn(other.dataDir)).toMatchObject([{ seq: 6, recoveries: [recovery.hash] }]);
    expect(await verifiesFor(ledger.url)).toEqual(["genesis", "session", "session", "recovery", "session", "session"]);
    expect((await ledger.rest("/house/verify")).body).toMatchObject({ verify_ok: true, to: 6 });
    expect(await (await fetch(`${ledger.url}/house/receipts/4`)).text()).toContain("abandons receipt 5");
    await verifyLedger(ledger.db);
  });

  it("lets a ledger with other receipts continue, and a start accepts it", async () => {
    const ledger = await startGuarded(4);
    await ledger.app.close();
    await rewind(ledger.db, 2);
    await fill(ledger.db, 4);
    await recover(ledger, ...(await proposal(ledger)));
    const again = await startGuarded(1, ledger);
    expect(await warningOf(again)).toBeUndefined();
    expect((await again.seal()).seq).toBe(8n);
    expect(await verifiesFor(again.url)).toHaveLength(8);
    expect((await again.rest("/house/verify")).body.verify_ok).toBe(true);
  });

  it("does not explain receipts that were lost after it", async () => {
    const ledger = await startGuarded(9);
    await rewind(ledger.db, 3);
    await recover(ledger, ...(await proposal(ledger)));
    for (let count = 0; count < 3; count++) await ledger.seal();
    // The recovery abandons receipt 9, and is in the chain of receipt 7 itself.
    await rewind(ledger.db, 5);
    await expect(ledger.seal()).rejects.toThrow(/has served receipt 7 .* ends at receipt 5/);
    await recover(ledger, ...(await proposal(ledger)));
    await ledger.seal();
    expect(await verifiesFor(ledger.url)).toHaveLength(7);
  });

  it("says in the receipt if the rest of the chain does not verify", async () => {
    const ledger = await startGuarded(5);
    await rewind(ledger.db, 3);
    await ledger.db.rows("UPDATE receipts SET canonical = 'damaged' WHERE seq = 2");
    await recover(ledger, ...(await proposal(ledger)));
    const { evidence } = JSON.parse((await storedAt(ledger.db, 4)).canonical.toString());
    expect(evidence.verify_ok).toBe(false);
  });

  it("keeps the head files that a recovery does not explain", async () => {
    const ledger = await startGuarded(4);
    await ledger.app.close();
    const { hash } = await storedAt(ledger.db, 4);
    await new HeadFolder(ledger.dataDir, "another").write({
      seq: 4,
      hash: "0".repeat(64),
      recoveries: [],
      ledger: (await storedAt(ledger.db, 1)).hash,
      database: "another",
    });
    await rewind(ledger.db, 2);
    const [, named] = await proposal(ledger);
    await recover(ledger, "--abandon", named as string, "--note", "One of two.");
    expect(
      headsIn(ledger.dataDir)
        .map((head) => head.hash)
        .sort(),
    ).toEqual(["0".repeat(64), hash]);
    await recover(ledger, ...(await proposal(ledger)));
    expect(headsIn(ledger.dataDir)).toMatchObject([{ seq: 4, recoveries: [expect.anything(), expect.anything()] }]);
    expect((await recover(ledger)).status).toBe(0);
  });
});
