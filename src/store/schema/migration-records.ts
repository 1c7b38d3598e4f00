import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import { createdTables, type Migration, readMigrations } from "./migration-files.ts";

/** A row of schema_migrations: a migration that was begun. */
export interface MigrationRecord {
  version: number;
  name: string;
  checksum: string;
  /** How many of its statements have been begun. The last of them may or may not have taken effect. */
  statements_begun: number;
  /** 1 when all statements have taken effect, else 0. */
  finished: number;
}

/** How the schema of a database compares with the migrations of this program. */
export type SchemaState =
  | { kind: "current" }
  /** A migration is missing or not finished. */
  | { kind: "behind" }
  /** A newer version has migrated it, or is doing so. This program can still use it. */
  | { kind: "ahead"; reason: string }
  /** Some tables are missing. */
  | { kind: "incomplete"; reason: string }
  /** See `findConflict`. */
  | { kind: "other"; reason: string };

/** The statements that create the tables for the records and for the lease. They may be repeated. */
export const recordTables = [
  `CREATE TABLE IF NOT EXISTS schema_lease (
     id INT NOT NULL, holder VARCHAR(36) NOT NULL, expires_at BIGINT NOT NULL, PRIMARY KEY (id)
   ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  "INSERT IGNORE INTO schema_lease (id, holder, expires_at) VALUES (1, '', 0)",
  `CREATE TABLE IF NOT EXISTS schema_migrations (
     version INT NOT NULL, name VARCHAR(100) NOT NULL, checksum CHAR(64) NOT NULL,
     statements_begun INT NOT NULL DEFAULT 0, finished TINYINT NOT NULL DEFAULT 0, PRIMARY KEY (version)
   ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
];

export const restoreAdvice = "Restore a backup into an empty database: npm run stoa -- restore FILE";

/** The record that marks a database while a backup is restored into it. */
export const restoreMark = { version: 0, name: "restore" };

/** How many missing parts `incompleteReason` names. */
const maxNamed = 8;
const never = new AbortController().signal;

/** Compares the records and the tables with the migrations of this program. @throws StoaError when the database is away */
export async function schemaState(db: Pick<Database, "reader">, signal: AbortSignal = never): Promise<SchemaState> {
  const migrations = await readMigrations();
  const reader = db.reader(signal);
  const tables = await listTables(reader);
  if (!tables.has("schema_migrations")) return { kind: "behind" };
  const records = await readRecords(reader);
  const last = migrations.at(-1)?.version ?? 0;
  const own = records.filter(({ version }) => version <= last);
  const conflict = findConflict(migrations, own);
  if (conflict !== undefined) return { kind: "other", reason: conflict };
  if (!areFinished(migrations, own)) return { kind: "behind" };
  const missing = createdTables(migrations)
    .filter((name) => !tables.has(name))
    .sort();
  if (missing.length > 0) {
    return { kind: "incomplete", reason: incompleteReason(missing.map((name) => `the table ${name}`)) };
  }
  const newer = records.find(({ version }) => version > last);
  if (newer === undefined) return { kind: "current" };
  const reason = `The database was migrated by a newer version of Stoa (${newer.name}). Replace this version by that one.`;
  return { kind: "ahead", reason };
}

/**
 * One line for the operator about a database that lacks something.
 * @param parts what it lacks, such as `the table posts`
 */
export function incompleteReason(parts: readonly string[]): string {
  const named = parts.slice(0, maxNamed).join(", ");
  const more = parts.length > maxNamed ? ` and ${parts.length - maxNamed} more` : "";
  return `The database lacks ${named}${more}, or its account may not read this. ${restoreAdvice}`;
}

/** Whether every migration is finished, by the records. The tables themselves are not checked. */
export async function isMigrated(db: Queryable, migrations: readonly Migration[]): Promise<boolean> {
  return (await hasRecords(db)) && areFinished(migrations, await readRecords(db));
}

/**
 * The migrations that were applied to a database, in order.
 * @throws Error with one line when there is none, one is not finished, or there is a conflict (see `findConflict`)
 */
export async function appliedMigrations(db: Queryable): Promise<Migration[]> {
  const migrations = await readMigrations();
  const records = (await hasRecords(db)) ? await readRecords(db) : [];
  if (records.length === 0) throw new Error("The database is empty: no Stoa has used it yet.");
  const conflict = findConflict(migrations, records);
  if (conflict !== undefined) throw new Error(conflict);
  const unfinished = records.find(({ finished }) => finished !== 1);
  if (unfinished !== undefined) {
    throw new Error(`The migration ${unfinished.name} is not finished. Start the service to finish it.`);
  }
  return migrations.filter(({ version }) => records.some((record) => record.version === version));
}

/**
 * Why this program cannot use a database with these records, as one line for the operator; undefined when it can. Either a
 * restore is unfinished, or this program does not have one of the migrations, or has another version of it.
 */
export function findConflict(
  migrations: readonly Migration[],
  records: readonly MigrationRecord[],
): string | undefined {
  for (const record of records) {
    if (record.version === restoreMark.version) {
      return "A restore into this database was not finished. Run it again: npm run stoa -- restore FILE";
    }
    const migration = migrations.find(({ version }) => version === record.version);
    if (migration === undefined) {
      return `The database was migrated by a newer version of Stoa (${record.name}). Start that version, or restore a backup.`;
    }
    if (migration.checksum !== record.checksum) {
      return `Migration ${record.name} differs from the one that created this database. Start the version that created it.`;
    }
  }
  return undefined;
}

export function readRecords(db: Queryable): Promise<MigrationRecord[]> {
  return db.rows<MigrationRecord>(
    "SELECT version, name, checksum, statements_begun, finished FROM schema_migrations ORDER BY version",
  );
}

function areFinished(migrations: readonly Migration[], records: readonly MigrationRecord[]): boolean {
  return (
    records.length === migrations.length &&
    records.every(
      ({ finished, checksum }, index) => finished === 1 && checksum === (migrations[index] as Migration).checksum,
    )
  );
}

async function hasRecords(db: Queryable): Promise<boolean> {
  return (await listTables(db)).has("schema_migrations");
}

/** The names of the tables that the account may see. */
export async function listTables(db: Queryable): Promise<Set<string>> {
  const tables = await db.rows<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
  );
  return new Set(tables.map(({ name }) => name));
}
