import { unlockReceipts } from "../../ledger/support.ts";
import { askRest } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import { type Fault, fine } from "../fault.ts";

let good: Buffer;

export const receiptFlipped: Fault = {
  name: "Flipped bytes of a receipt",
  done: "One byte of receipt 2 is changed in the database after its triggers were dropped. Later the byte is restored and the chain is verified.",
  seen: "The board keeps running. The next verification finds the receipt (here a requested one, otherwise the daily one). /readyz has a warning, also after a restart, until the whole chain verifies again. The receipt is served as damaged.",
  during: fine,
  async harm(stage) {
    await stage.withDatabase(async (db) => {
      await unlockReceipts(db);
      const [row] = await db.rows<{ canonical: Buffer }>("SELECT canonical FROM receipts WHERE seq = 2");
      good = (row as { canonical: Buffer }).canonical;
      const bad = Buffer.from(good.toString().replace('"kind":"seal"', '"kind":"seaL"'));
      await db.rows("UPDATE receipts SET canonical = ? WHERE seq = 2", [bad]);
    });
    const wrong: string[] = [];
    const report = (await askRest(stage.url, "/house/verify")).body;
    if (report.verify_ok !== false || report.broken_at !== 2) wrong.push(`verified: ${JSON.stringify(report)}`);
    return [...wrong, ...(await stage.expectWarning(/receipt 2/))];
  },
  async mend(stage) {
    await stage.withDatabase((db) => db.rows("UPDATE receipts SET canonical = ? WHERE seq = 2", [good]));
    // A restart creates the triggers again and keeps the finding.
    await stage.restart();
    await waitUntil("the end of the alarm", async () => {
      await askRest(stage.url, "/house/verify");
      return (await stage.ready()).body.warning === undefined;
    });
  },
};
