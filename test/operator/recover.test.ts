import { existsSync } from "node:fs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { verifyReceipts } from "../../src/client/receipts.ts";
import { compareHeads } from "../../src/ledger/head-guard/compare-heads.ts";
import { HeadFolder } from "../../src/ledger/head-guard/head-folder.ts";
import { Database } from "../../src/store/database/database.ts";
import { type Guarded, headsIn, rewind, startGuarded, storedAt } from "../ledger/head-guard/support.ts";
import { fill, verifyLedger, warningOf } from "../ledger/support.ts";
import { urlOf } from "../support/process.ts";
import { waitUntil } from "../support/wait.ts";
import { operateWith } from "./support.ts";

const recover = ({ db, dataDir }: Guarded, ...args: string[]) =>
  operateWith({ STOA_DATABASE_URL: urlOf(db.config), STOA_DATA_DIR: dataDir }, ["recover", ...args]);

/** The arguments that the command itself names. */
async function proposal(ledger: Guarded): Promise<string[]> {
  const { status, out } = await recover(ledger);
  expect(status).toBe(1);
  const [, head] = /recover --abandon (\S+) --note/.exec(out.at(-1) as string) ?? [];
  return ["--abandon", head as string, "--note", "The disk of the database died."];
}

async function verifiesFor(url: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { document } of verifyReceipts({ url })) types.push(document.body.type);
  return types;
}

describe("stoa recover", () => {
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
    expect(JSON.parse(recovery.canonical.toString()).body).toEqual({
      type: "recovery",
      count: 3,
      head: (await storedAt(ledger.db, 3)).hash,
      abandoned_seq: 5,
      abandoned_hash: lost.hash,
      note: "The disk of the database died.",
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

  it("says nothing of the ledger as it was before the recovery", async () => {
    const ledger = await startGuarded(5);
    const lost = await storedAt(ledger.db, 5);
    await rewind(ledger.db, 3);
    const before = await storedAt(ledger.db, 3);
    await recover(ledger, ...(await proposal(ledger)));
    const database = new Database({ address: ledger.db.config, connections: 1 });
    onTestFinished(() => database.close());
    // A replica that has read the head before the recovery, and reads the recoveries after it.
    const served = { seq: 5, hash: lost.hash, recoveries: [] };
    const found = await compareHeads(database.reader(new AbortController().signal), { seq: 3, hash: before.hash }, [
      served,
    ]);
    expect(found).toEqual({ missing: [{ head: served, kind: "truncated" }], recoveries: [] });
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

  it("does not explain another receipt with the same seq", async () => {
    const ledger = await startGuarded(4);
    await rewind(ledger.db, 2);
    const unknown = { ...ledger, dataDir: `${ledger.dataDir}/none` };
    await recover(unknown, "--abandon", `4:${"0".repeat(64)}`, "--note", "A mistake.");
    await expect(ledger.seal()).rejects.toThrow(/has served receipt 4 .* ends at receipt 3/);
    await recover(ledger, ...(await proposal(ledger)));
    await ledger.seal();
  });

  it("does not cover a replica that has served more receipts, which needs a second recovery", async () => {
    const ahead = await startGuarded(6);
    const behind = await startGuarded(1, { db: ahead.db });
    await behind.app.close();
    const restore = await rewind(ahead.db, 5);
    const middle = await startGuarded(1, { db: ahead.db });
    await restore();
    await rewind(ahead.db, 3);
    await recover(middle, ...(await proposal(middle)));
    await middle.seal();
    await expect(ahead.seal()).rejects.toThrow(/has served receipt 6/);
    await recover(ahead, ...(await proposal(ahead)));
    await ahead.seal();
    await middle.seal();
    expect((await recover(behind)).out).toEqual([
      expect.stringMatching(/^The ledger in the database ends at receipt 8,/),
      "A recovery in it accounts for receipt 6, the newest that this replica remembers.",
    ]);
    await (await startGuarded(1, behind)).seal();
    await verifyLedger(ahead.db);
  });

  it("reports that no receipt is lost, and refuses a statement that does not match the loss", async () => {
    const ledger = await startGuarded(4);
    const { hash } = await storedAt(ledger.db, 4);
    expect(await recover(ledger)).toMatchObject({
      status: 0,
      out: [
        `The ledger in the database ends at receipt 4, hash ${hash}.`,
        "It has receipt 4, the newest that this replica remembers.",
      ],
    });
    const said = ["--note", "said"];
    expect(await recover(ledger, "--abandon", `4:${hash}`, ...said)).toMatchObject({
      status: 3,
      notes: ["stoa recover: receipt 4 is part of the ledger as it is: nothing is abandoned"],
    });
    await rewind(ledger.db, 2);
    const other = `4:${"0".repeat(64)}`;
    expect(await recover(ledger, "--abandon", other, ...said)).toMatchObject({
      status: 3,
      notes: [`stoa recover: the newest receipt that was served and is lost is 4:${hash}; name that one`],
    });
    expect((await recover(ledger, "--abandon", `4:${hash}`, "--note", " ")).notes[0]).toContain("the note must have");
    for (const args of [["--abandon", "4"], ["--abandon", "4:x", ...said], ["--abandon", `4:${hash}`], ["now"]]) {
      expect((await recover(ledger, ...args)).status).toBe(2);
    }
    expect(await ledger.db.rows("SELECT seq FROM receipts WHERE seq > 2")).toEqual([]);
  });

  it("seals nothing while the clock differs from the database's", async () => {
    const ledger = await startGuarded(4);
    const { hash } = await storedAt(ledger.db, 4);
    await rewind(ledger.db, 2);
    // The clock is read by a reference to Date.now, which the modules take when they are loaded.
    const now = Date.now;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 86_400_000);
    onTestFinished(() => clock.mockRestore());
    vi.resetModules();
    const { operateWith: operateAhead } = await import("./support.ts");
    const settings = { STOA_DATABASE_URL: urlOf(ledger.db.config), STOA_DATA_DIR: ledger.dataDir };
    const outcome = await operateAhead(settings, ["recover", "--abandon", `4:${hash}`, "--note", "said"]);
    expect(outcome).toMatchObject({ status: 3, notes: [expect.stringContaining("ahead of the database's")] });
    expect(await ledger.db.rows("SELECT seq FROM receipts WHERE seq > 2")).toEqual([]);
  });

  it("accepts an operator's statement if the replica remembers nothing", async () => {
    const ledger = await startGuarded(2);
    const unknown = { ...ledger, dataDir: `${ledger.dataDir}/none` };
    expect((await recover(unknown)).out.at(-1)).toBe("This data folder remembers no served receipt.");
    expect(existsSync(unknown.dataDir)).toBe(false);
    const { status } = await recover(unknown, "--abandon", `7:${"a".repeat(64)}`, "--note", "A verifier has it.");
    expect(status).toBe(0);
    expect(headsIn(unknown.dataDir)).toMatchObject([{ seq: 3 }]);
    await ledger.seal();
  });
});
