// A database that lacks something, as after a restore of only some tables: the service and every command say in one line
// what is missing and what to do. fsck.test.ts tells what fsck says.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { beforeEach, expect, it } from "vitest";
import { startLedger } from "../ledger/support.ts";
import { createDatabaseWithSchema, createTestDatabase, type TestDatabase } from "../support/database.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { type Outcome, operate } from "./support.ts";

const advice = "Restore a backup into an empty database: npm run stoa -- restore FILE";
const lacks = (what: string) => `The database lacks ${what}, or its account may not read this. ${advice}`;
const folder = scratchFolder();

let db: TestDatabase;
beforeEach(async () => {
  db = await createDatabaseWithSchema();
});

/** Begins the ledger of the database. */
async function beginLedger(): Promise<void> {
  await (await startService({ db })).app.close();
}

/** Starts the service, which fails. @returns the message of the failure */
async function failStart(): Promise<string> {
  return startService({ db }).then(
    () => "it started",
    ({ message }: Error) => message,
  );
}

const run = (name: string, ...args: string[]): Promise<Outcome> => operate(db.config, [name, ...args]);
const backup = () => run("backup", join(folder, "backup.sql"));
const failed = (line: string) => ({ status: 3, out: [], notes: [line] });

it("without some tables", async () => {
  await db.rows("DROP TABLE votes, ledger_days");
  const reason = lacks("the table ledger_days, the table votes");
  expect(await failStart()).toBe(reason);
  for (const name of ["seal", "recover"]) expect(await run(name)).toEqual(failed(`stoa ${name}: ${reason}`));
  expect(await backup()).toEqual(failed(`stoa backup: ${reason}`));
  expect(readdirSync(folder)).toEqual([]);
});

it("without indexes", async () => {
  await beginLedger();
  await db.rows("ALTER TABLE agents DROP KEY agents_name_key");
  await db.rows("ALTER TABLE comments DROP KEY comments_author");
  const index =
    "the unique index agents_name_key (name_key) of agents, the index comments_author (author_id, id) of comments";
  expect(await failStart()).toBe(lacks(index));
  // It seals no day unless midnight has just passed.
  expect((await run("seal", "--catch-up")).status).toBe(0);
  expect((await run("recover")).status).toBe(0);
  // A backup has the whole schema, so a restore brings the indexes back.
  expect((await backup()).status).toBe(0);
  db = await createTestDatabase();
  expect((await run("restore", join(folder, "backup.sql"))).status).toBe(0);
  expect((await run("fsck")).out).toEqual([]);
});

it("without a column", async () => {
  await beginLedger();
  await db.rows("ALTER TABLE ledger_head DROP COLUMN ts");
  expect(await failStart()).toBe(lacks("the column ledger_head.ts"));
  for (const name of ["seal", "recover"]) {
    const { status, notes } = await run(name);
    expect([status, notes]).toEqual([
      3,
      [expect.stringMatching(/^stoa \w+: Unknown column 'ts' .*stoa fsck names .*restore FILE$/)],
    ]);
  }
});

it("without the records of migrations", async () => {
  await db.rows("DROP TABLE schema_migrations");
  expect(await failStart()).toMatch(
    /^The database has the tables agents, .*, but schema_migrations has no rows\. .*restore FILE$/,
  );
  for (const name of ["seal", "recover", "fsck"]) {
    const line = `stoa ${name}: the database is not migrated to this version; start the service first`;
    expect(await run(name)).toEqual(failed(line));
  }
  expect(await backup()).toEqual(failed("stoa backup: The database is empty: no Stoa has used it yet."));
});

it("without rows of the ledger", async () => {
  await beginLedger();
  await db.rows("DELETE FROM ledger_epoch");
  const epoch = "The row of ledger_epoch is missing; restore it from a backup.";
  expect(await failStart()).toBe(epoch);
  await db.rows("UPDATE ledger_head SET seq = 0, hash = REPEAT('0', 64)");
  const behind = "The head of the ledger is receipt 0, but there are later receipts; restore the ledger from a backup.";
  expect(await failStart()).toBe(behind);
  await db.rows("DELETE FROM ledger_head");
  const head = "The row of ledger_head is missing; restore it from a backup.";
  expect(await failStart()).toBe(head);
  expect(await run("recover")).toEqual(failed(`stoa recover: ${head}`));
  expect(await backup()).toEqual(failed(`stoa backup: ${head}`));
});

it("with a head that is older than the receipts", async () => {
  await beginLedger();
  await db.rows("UPDATE ledger_head SET seq = 0, hash = REPEAT('0', 64), ts = 0");
  const service = await startLedger({ db });
  await expect(service.seal()).rejects.toMatchObject({
    code: Code.Unavailable,
    rawMessage: expect.stringContaining("but there are later receipts"),
  });
  expect((await service.rest("posts")).status).toBe(200);
});
