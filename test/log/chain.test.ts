// The chain of receipts and the tree of the log cover each other.
import { expect, it } from "vitest";
import { formatSignerKey } from "../../src/tlog/notes/signer-key.ts";
import { TestClock, verifyLedger } from "../ledger/support.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { beginTestLog, entriesOf, leafHash, rootOf, testOrigin } from "../support/log.ts";
import { startModerated } from "../support/moderation.ts";
import { waitUntil } from "../support/wait.ts";

it("a daily receipt names the newest published tree, and every receipt is an entry", async () => {
  const db = await createDatabaseWithSchema();
  const clock = new TestClock("2026-03-01T23:59:00Z");
  const without = await startModerated({ db, overrides: { now: clock.now } });
  clock.set("2026-03-02T23:59:00Z");
  const sealed = (date: string) =>
    waitUntil(`the daily receipt of ${date}`, async () => {
      return (await db.rows("SELECT seq FROM ledger_days WHERE date = ?", [date])).length === 1;
    });
  await sealed("2026-03-01");
  await without.app.close();
  clock.set("2026-03-02T23:59:30Z");
  const keyText = formatSignerKey(await beginTestLog(db, clock.ms));
  const config = { boardLog: { mayBegin: true, origin: undefined, keyText } };
  const service = await startModerated({ db, config, overrides: { now: clock.now } });
  await service.post(await service.register());
  const published = async () => (await db.rows<{ signed: number }>("SELECT signed FROM log_head"))[0]?.signed ?? 0;
  await waitUntil("a checkpoint with the post", async () => (await published()) >= 5);
  clock.set("2026-03-03T00:00:01Z");
  await sealed("2026-03-02");
  const days = (await verifyLedger(db)).filter(({ body }) => body.type === "daily");
  const { size } = days[1]?.evidence.log ?? {};
  expect(size).toBeGreaterThanOrEqual(5);
  const leaves = (await db.rows<{ entry: string }>("SELECT entry FROM log_entries ORDER BY idx LIMIT ?", [size])).map(
    ({ entry }) => leafHash(entry),
  );
  expect(days.map(({ evidence }) => evidence.log)).toEqual([
    undefined,
    { origin: testOrigin, root: rootOf(leaves).toString("hex"), size },
  ]);
  await waitUntil("all receipts in the log", async () => {
    return (await db.rows("SELECT 1 FROM log_head h JOIN ledger_head l ON h.receipts = l.seq")).length === 1;
  });
  const receipts = (await entriesOf(db)).filter(({ type }) => type === "receipt");
  expect(receipts.map(({ seq, hash, imported }) => ({ seq, hash, imported }))).toEqual(
    (await db.rows<{ seq: number; hash: string }>("SELECT seq, hash FROM receipts ORDER BY seq")).map((row) => ({
      ...row,
      imported: row.seq < 3 ? true : undefined,
    })),
  );
});
