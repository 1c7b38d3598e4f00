import { driverErrorOf } from "../database/connect-failures.ts";
import type { Database } from "../database/database.ts";
import { logWhileRunning } from "./log-while-running.ts";
import { createdTables, isTrigger, type Migration, readMigrations } from "./migration-files.ts";
import { holdLease, LeaseLost, write } from "./migration-lease.ts";
import { findConflict, isMigrated, listTables, readRecords, recordTables, restoreAdvice } from "./migration-records.ts";

/*
 * Migrations are the numbered SQL files in migrations/. DDL commits by itself, so schema_migrations records each statement
 * before it begins, and each file when it is finished. Statements are safe to repeat (IF NOT EXISTS, INSERT IGNORE; an ALTER
 * TABLE makes all of its changes or none). So when a process dies in the middle, the next one goes on. One replica at a time
 * migrates, under a lease: a row, because GET_LOCK does not work across a cluster.
 */

const never = new AbortController().signal;

/** The database to migrate. `signal` stops the migration. */
export interface Target {
  db: Database;
  signal: AbortSignal;
}

export interface MigrateOptions {
  log(line: string): void;
  signal?: AbortSignal | undefined;
  /** Whether triggers are created; by default true. Without them, only the rights of the serving account protect the ledger. */
  triggers?: boolean | undefined;
}

/**
 * Brings the schema up to date. Any number of replicas may call it at once.
 * @param db without a timeout: statements that change a large table take long
 * @throws Error with one line that says what to do, if a statement fails, a migration file has changed, or a newer version has
 * migrated; the signal's reason
 */
export async function migrate(db: Database, { log, signal = never, triggers = true }: MigrateOptions): Promise<void> {
  const target = { db, signal };
  const migrations = await readMigrations();
  while (!(await isMigrated(db.reader(signal), migrations))) {
    const apply = (renewed: () => Promise<void>) => applyAll(target, migrations, { log, triggers, renewed });
    await withLease(target, apply, log).catch((error) => {
      if (!(error instanceof LeaseLost)) throw error;
    });
  }
}

/**
 * Runs `work` under the lease, so that no other process changes the schema; see `holdLease`. Creates `recordTables` first.
 * @param log called while another process holds the lease
 */
export async function withLease<Result>(
  { db, signal }: Target,
  work: (renewed: () => Promise<void>) => Promise<Result>,
  log: (line: string) => void = () => {},
): Promise<Result> {
  for (const statement of recordTables) {
    await db.runDdl(signal, statement).catch((error) => {
      signal.throwIfAborted();
      throw new Error(`The tables of the migrations cannot be created: ${explainDdlError(error)}`, { cause: error });
    });
  }
  return holdLease(db, signal, log, work);
}

/** Why a statement failed and, if that is not obvious, what to do about it. */
export function explainDdlError(error: Error): string {
  const { errno = 0, message } = driverErrorOf(error);
  // A MySQL server that keeps a binary log requires SUPER to create a trigger.
  if (errno === 1419) {
    return (
      "this account may not create triggers while the server keeps a binary log (error 1419). As an administrator run" +
      " SET GLOBAL log_bin_trust_function_creators = 1, or name an account that has SUPER in STOA_MIGRATION_DATABASE_URL," +
      " or do without triggers by STOA_LEDGER_TRIGGERS=off."
    );
  }
  // 1044, 1142: rights on the database or a table; 1227: a right of administrators.
  if ([1044, 1142, 1227].includes(errno)) {
    return (
      `${message}. GRANT this account all rights on the database, or name one that has them in` +
      " STOA_MIGRATION_DATABASE_URL."
    );
  }
  return error.message;
}

interface Options {
  log(line: string): void;
  triggers: boolean;
  /** Renews the lease. @throws LeaseLost */
  renewed(): Promise<void>;
}

async function applyAll(target: Target, migrations: Migration[], options: Options): Promise<void> {
  const { log } = options;
  const records = await readRecords(target.db.reader(target.signal));
  const conflict = findConflict(migrations, records);
  if (conflict !== undefined) throw new Error(conflict);
  if (records.length === 0) await checkEmpty(target, migrations);
  for (const migration of migrations) {
    const record = records.find(({ version }) => version === migration.version);
    if (record?.finished) continue;
    log(`migrating the database: ${migration.name}${record ? ", which an earlier start began" : ""}`);
    await applyOne(target, migration, record?.statements_begun ?? 0, options);
  }
}

/**
 * Checks that a database without records of migrations has no tables of migrations either: a migration is recorded before it
 * creates its tables.
 * @throws Error with one line
 */
async function checkEmpty({ db, signal }: Target, migrations: readonly Migration[]): Promise<void> {
  const tables = await listTables(db.reader(signal));
  const present = createdTables(migrations).filter((name) => tables.has(name));
  if (present.length === 0) return;
  throw new Error(
    `The database has the tables ${present.join(", ")}, but schema_migrations has no rows. It is restored incompletely, or` +
      ` belongs to another program. ${restoreAdvice}`,
  );
}

/** @param begun how many of its statements an earlier process has begun */
async function applyOne(
  target: Target,
  migration: Migration,
  begun: number,
  { log, triggers, renewed }: Options,
): Promise<void> {
  const { version, name, checksum, statements } = migration;
  await write(
    target.db,
    target.signal,
    "INSERT IGNORE INTO schema_migrations (version, name, checksum) VALUES (?, ?, ?)",
    [version, name, checksum],
  );
  // The statement that was begun last may or may not have taken effect, so it is repeated.
  for (let number = Math.max(begun, 1); number <= statements.length; number++) {
    if (!triggers && isTrigger(statements[number - 1] as string)) continue;
    await renewed();
    await write(target.db, target.signal, "UPDATE schema_migrations SET statements_begun = ? WHERE version = ?", [
      number,
      version,
    ]);
    try {
      const what = `statement ${number} of ${statements.length} of migration ${name}`;
      await logWhileRunning(what, log, () => target.db.runDdl(target.signal, statements[number - 1] as string));
    } catch (error) {
      target.signal.throwIfAborted();
      if (number === begun && hasTakenEffect(error)) continue;
      // If another replica has the lease now, that one may have run the statement already: LeaseLost is thrown.
      await renewed();
      throw new Error(
        `Migration ${name} failed at statement ${number} of ${statements.length}: ${explainDdlError(error as Error)}` +
          " The statements before it are done. Remove the cause and start again; the migration continues with this statement.",
        { cause: error },
      );
    }
  }
  await write(target.db, target.signal, "UPDATE schema_migrations SET finished = 1 WHERE version = ?", [version]);
}

/**
 * Whether a repeated ALTER TABLE failed because it has already taken effect: what it adds exists (1060: a column, 1061: an
 * index), or what it drops does not (1091). MySQL has no IF EXISTS here.
 */
function hasTakenEffect(error: unknown): boolean {
  const { errno } = error as { errno?: number };
  return errno === 1060 || errno === 1061 || errno === 1091;
}
