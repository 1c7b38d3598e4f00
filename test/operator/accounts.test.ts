// Backup and restore by the accounts of grants.sql.
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { Database } from "../../src/store/database/database.ts";
import { splitStatements } from "../../src/store/schema/migration-files.ts";
import { whyIncomplete } from "../../src/store/schema/schema-check.ts";
import { afterFile } from "../support/after-file.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { urlOf } from "../support/process.ts";
import { startService } from "../support/service.ts";
import { operateWith, query } from "./support.ts";

const grants = splitStatements(readFileSync(new URL("../../src/store/schema/grants.sql", import.meta.url), "utf8"));
const { onTables = [], others = [] } = Object.groupBy(grants, (statement) =>
  / ON stoa\.(?!\*)/.test(statement) ? "onTables" : "others",
);
const suffix = randomBytes(4).toString("hex");
const folder = mkdtempSync(join(tmpdir(), "stoa-accounts-"));
const file = join(folder, "backup.sql");

/** Runs the statements of grants.sql for a database and the accounts of this file. */
async function grant({ config }: TestDatabase, statements: string[]): Promise<void> {
  for (const statement of statements) {
    const sql = statement
      .replace(" ON stoa.", ` ON ${config.database}.`)
      .replace(/'(stoa_\w+)'@'%'/g, `'$1_${suffix}'@'%'`);
    await query(config, sql.replace("CREATE USER", "CREATE USER IF NOT EXISTS"));
  }
}

function accounts({ config }: TestDatabase): { database: DatabaseConfig; migrationDatabase: DatabaseConfig } {
  return {
    database: { ...config, user: `stoa_serving_${suffix}`, password: "choose-another" },
    migrationDatabase: { ...config, user: `stoa_migration_${suffix}`, password: "choose-a-password" },
  };
}

const first = await startService();
await first.app.close();
const source = first.db;
const target = await createTestDatabase();
for (const db of [source, target]) await grant(db, others);
afterFile(async () => {
  for (const user of ["stoa_migration", "stoa_serving"])
    await query(source.config, `DROP USER '${user}_${suffix}'@'%'`);
  rmSync(folder, { recursive: true });
});

it("the serving account makes a backup, and the service runs on it after the migration account restores it", async () => {
  const { database } = accounts(source);
  expect(await operateWith({ STOA_DATABASE_URL: urlOf(database) }, ["backup", file])).toMatchObject({ status: 0 });

  const settings = accounts(target);
  const environment = {
    STOA_DATABASE_URL: urlOf(settings.database),
    STOA_MIGRATION_DATABASE_URL: urlOf(settings.migrationDatabase),
  };
  const [server] = await query<{ refuses: number }>(
    target.config,
    "SELECT @@log_bin AND NOT @@global.log_bin_trust_function_creators AS refuses",
  );
  if (Number(server?.refuses) === 1) {
    // Stock MySQL: what docs/operating.md says of error 1419. It is met before any row is written.
    const { status, notes } = await operateWith(environment, ["restore", file]);
    expect(status).toBe(3);
    expect(notes).toEqual([
      expect.stringMatching(
        /^stoa restore: this account may not create triggers .*log_bin_trust_function_creators = 1/,
      ),
    ]);
    await query(target.config, `GRANT SUPER ON *.* TO 'stoa_migration_${suffix}'@'%'`);
  }
  expect(await operateWith(environment, ["restore", file])).toMatchObject({ status: 0, notes: [] });
  await grant(target, onTables);
  const service = await startService({ db: target, config: settings });
  expect((await service.rest("/readyz")).body).toEqual({ ok: true });
  expect((await service.register("newcomer")).name).toBe("newcomer");
  // The serving account sees the whole schema.
  const serving = new Database({ address: settings.database, connections: 1 });
  expect(await whyIncomplete(serving.reader(new AbortController().signal))).toBeUndefined();
  await serving.close();
  // It is enough to seal a recovery.
  const settled = { STOA_DATABASE_URL: urlOf(settings.database), STOA_DATA_DIR: join(folder, "data") };
  const statement = ["--abandon", `9:${"a".repeat(64)}`, "--note", "A verifier has it."];
  expect(await operateWith(settled, ["recover", ...statement])).toMatchObject({ status: 0, notes: [] });
});

it("a restore with an account that may not create tables fails clearly, and works with one that may", async () => {
  const db = await createTestDatabase();
  await grant(db, others);
  const settings = accounts(db);
  const { status, notes } = await operateWith({ STOA_DATABASE_URL: urlOf(settings.database) }, ["restore", file]);
  expect(status).toBe(3);
  expect(notes).toEqual([expect.stringMatching(/denied to user 'stoa_serving/)]);
  const environment = {
    STOA_DATABASE_URL: urlOf(settings.database),
    STOA_MIGRATION_DATABASE_URL: urlOf(settings.migrationDatabase),
  };
  expect(await operateWith(environment, ["restore", file])).toMatchObject({ status: 0 });
});

it("a data folder that this account may not read is named in one line", async () => {
  const dataDir = join(folder, "closed");
  mkdirSync(dataDir, { mode: 0 });
  const line = `${dataDir} cannot be read by this account; run the command as root or as the account of the service`;
  const isRoot = process.getuid?.() === 0;
  // Root reads everything.
  chmodSync(folder, 0o755);
  if (isRoot) process.seteuid?.("nobody");
  try {
    const { status, notes } = await operateWith({ STOA_DATA_DIR: dataDir }, ["recover"]);
    expect([status, notes]).toEqual([3, [`stoa recover: ${line}`]]);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});
