import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { restoreTriggers } from "../../../src/store/schema/append-only.ts";
import { checkSchema } from "../../../src/store/schema/schema-check.ts";
import { createDatabaseWithSchema, createTestDatabase } from "../../support/database.ts";
import { startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;

it("missing triggers cause a readiness warning, and the next start restores them", async () => {
  const service = await startService({ overrides: { databaseLookMs: 50 } });
  const { db } = service;
  expect((await service.rest("/readyz")).body).toEqual({ ok: true });
  await db.rows("DROP TRIGGER receipts_are_not_deleted");
  const ready = () => service.rest("/readyz");
  await waitUntil("the warning", async () => "warning" in (await ready()).body);
  const { status, body } = await ready();
  expect(status).toBe(200);
  expect(body.warning).toMatch(
    /^The database does not prevent changes to receipts, to the record of moderation or to the log: it lacks the trigger receipts_are_not_deleted/,
  );
  expect(body.warning).toContain("STOA_MIGRATION_DATABASE_URL");

  const replica = await startService({ db });
  expect(replica.log.map(({ msg }) => msg)).toContain(
    "the trigger receipts_are_not_deleted was missing and has been restored",
  );
  expect((await replica.rest("/readyz")).body).toEqual({ ok: true });
  await expect(db.rows("DELETE FROM receipts WHERE seq = 1")).rejects.toThrow("receipts are append-only");
  await waitUntil("the warning to go", async () => !("warning" in (await ready()).body));
});

it("without triggers nothing is made, nothing is missed, and the start says what protects the receipts", async () => {
  const service = await startService({
    db: await createTestDatabase(),
    config: { ledgerTriggers: false },
    overrides: { databaseLookMs: 50 },
  });
  const { db } = service;
  expect(await db.rows("SELECT 1 FROM information_schema.triggers WHERE trigger_schema = DATABASE()")).toEqual([]);
  expect((await service.rest("/readyz")).body).toEqual({ ok: true });
  const warned = service.log.filter(({ msg }) => String(msg).startsWith("STOA_LEDGER_TRIGGERS is off"));
  expect(warned).toHaveLength(1);

  const address = new Database({ address: db.config, connections: 1 });
  const notes: string[] = [];
  const check = async (triggers: boolean) => {
    const findings: string[] = [];
    const options = { triggers, note: (line: string) => void notes.push(line) };
    for await (const { finding } of checkSchema(address, never, false, options)) findings.push(finding.problem);
    return findings;
  };
  try {
    expect(await check(false)).toEqual([]);
    expect(notes).toEqual([expect.stringContaining("no trigger protects the ledger")]);
    expect(await check(true)).toContain("the trigger receipts_are_not_updated is missing");
  } finally {
    await address.close();
  }
});

it("an account that sees that triggers are missing, and may not create them, gets a warning with the reason", async () => {
  const db = await createDatabaseWithSchema();
  const user = `trigger_${randomBytes(4).toString("hex")}`;
  await db.rows(`CREATE USER '${user}'@'%' IDENTIFIED BY 'secret'`);
  const account = new Database({ address: { ...db.config, user, password: "secret" }, connections: 1 });
  try {
    // The right to triggers of one table is enough to see them.
    for (const right of ["SELECT ON *", "TRIGGER ON receipts"])
      await db.rows(`GRANT ${right.replace(" ON ", ` ON ${db.config.database}.`)} TO '${user}'@'%'`);
    await db.rows("DROP TRIGGER moderations_are_not_updated");
    // A server with a binary log has a reason of its own.
    expect(await restoreTriggers(account, never, () => {})).toMatch(
      /it lacks the triggers? .*moderations_are_not_updated.* They could not be restored: .*(denied|error 1419)/,
    );
  } finally {
    await account.close();
    await db.rows(`DROP USER '${user}'@'%'`);
  }
});
