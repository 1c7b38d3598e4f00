// What stoa recover does not accept as an operator's statement, and what a statement does not explain.
import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { type Guarded, headsIn, rewind, startGuarded, storedAt } from "../ledger/head-guard/support.ts";
import { type StoredRow, verifyLedger } from "../ledger/support.ts";
import { urlOf } from "../support/process.ts";
import { proposal, recover } from "./recover-support.ts";

describe("stoa recover", () => {
  // The order counts: the first test loses two receipts of this ledger, the last one to use it seals on.
  let ledger: Guarded;
  let lost: StoredRow;
  beforeAll(async () => {
    ledger = await startGuarded(4);
    lost = await storedAt(ledger.db, 4);
  });

  it("reports that no receipt is lost, and refuses a statement that does not match the loss", async () => {
    const { hash } = lost;
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
    // The clock is read by a reference to Date.now, which the modules take when they are loaded.
    const now = Date.now;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 86_400_000);
    onTestFinished(() => clock.mockRestore());
    vi.resetModules();
    const { operateWith: operateAhead } = await import("./support.ts");
    const settings = { STOA_DATABASE_URL: urlOf(ledger.db.config), STOA_DATA_DIR: ledger.dataDir };
    const outcome = await operateAhead(settings, ["recover", "--abandon", `4:${lost.hash}`, "--note", "said"]);
    expect(outcome).toMatchObject({ status: 3, notes: [expect.stringContaining("ahead of the database's")] });
    expect(await ledger.db.rows("SELECT seq FROM receipts WHERE seq > 2")).toEqual([]);
  });

  it("does not explain another receipt with the same seq", async () => {
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
