import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { Database, Queryable } from "../database/database.ts";
import { sayWhileSlow } from "./log-while-running.ts";
import { holdLease } from "./migration-lease.ts";

/*
 * Migrations are the numbered SQL files beside this one. DDL commits by itself, so each statement is recorded when it is
 * begun and when the file is done; statements are written to be safe to repeat (IF NOT EXISTS, INSERT IGNORE; an ALTER
 * TABLE adds columns or indexes, all of them or none). A process that dies in the middle is therefore simply started
 * again. One replica at a time migrates: it holds a lease row, which, unlike GET_LOCK, holds in a cluster as well.
 */

const directory = new URL("./migrations/", import.meta.url);
const never = new AbortController().signal;

/** A migration file. */
export interface Migration {
  version: number;
  name: string;
  checksum: string;
  statements: string[];
}

interface Applied {
  version: number;
  name: string;
  checksum: string;
  statements_begun: number;
  finished: number;
}

/** How the schema stands against the migrations of this program. */
export type SchemaState =
  | { kind: "current" }
  | { kind: "behind" }
  /** Some tables are missing. */
  | { kind: "incomplete"; reason: string }
  | { kind: "other"; reason: string };

/** The database of a migration, and what gives the migration up. */
export interface Target {
  db: Database;
  signal: AbortSignal;
}

/**
 * Brings the schema up to date; any number of replicas may call it at once.
 * @param db without a time limit: statements that change a large table take long
 * @throws Error with one line that says what to do: a failed statement, a changed file, a schema from a newer program; the
 * signal's reason
 */
export async function migrate(
  db: Database,
  { log, signal = never }: { log(line: string): void; signal?: AbortSignal | undefined },
): Promise<void> {
  const target = { db, signal };
  const migrations = await readMigrations();
  if (await isCurrent(target, migrations)) return;
  await withLease(target, () => applyAll(target, migrations, log), log);
}

/**
 * Does what only one process at a time may do to the schema. Makes the tables that migrations are recorded in.
 * @param log is told while another process is waited for
 */
export async function withLease<Result>(
  target: Target,
  work: () => Promise<Result>,
  log: (line: string) => void = () => {},
): Promise<Result> {
  await createBookkeeping(target);
  return holdLease(target.db, target.signal, log, work);
}

/** Compares the schema's records with the migrations of this program. @throws StoaError when the database is away. */
export async function schemaState(db: Pick<Database, "reader">, signal: AbortSignal = never): Promise<SchemaState> {
  const migrations = await readMigrations();
  const reader = db.reader(signal);
  const tables = await listTables(reader);
  if (!tables.has("schema_migrations")) return { kind: "behind" };
  const applied = await readApplied(reader);
  const problem = findProblem(migrations, applied);
  if (problem !== undefined) return { kind: "other", reason: problem };
  if (!areApplied(migrations, applied)) return { kind: "behind" };
  const missing = createdTables(migrations).filter((name) => !tables.has(name));
  if (missing.length === 0) return { kind: "current" };
  const reason = `The database lacks ${missing.join(", ")}, or its account may not read them. Restore a backup, or the grants.`;
  return { kind: "incomplete", reason };
}

/**
 * The migrations that a database has had, in their order.
 * @throws Error with one line when it holds no Stoa, is not migrated to the end of one of them, or not by this program's
 */
export async function appliedMigrations(db: Queryable): Promise<Migration[]> {
  const migrations = await readMigrations();
  const applied = (await hasBookkeeping(db)) ? await readApplied(db) : [];
  if (applied.length === 0) throw new Error("The database is empty: no Stoa has used it yet.");
  const problem = findProblem(migrations, applied);
  if (problem !== undefined) throw new Error(problem);
  const unfinished = applied.find(({ finished }) => finished !== 1);
  if (unfinished !== undefined) {
    throw new Error(`The migration ${unfinished.name} is not finished. Start the service, which goes on with it.`);
  }
  return migrations.filter(({ version }) => applied.some((record) => record.version === version));
}

let cached: Promise<Migration[]> | undefined;

/** The migrations of this program. */
export function readMigrations(): Promise<Migration[]> {
  cached ??= (async () => {
    const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
    return Promise.all(
      names.map(async (name, index) => {
        const version = Number.parseInt(name, 10);
        if (!(version > Number.parseInt(names[index - 1] ?? "0", 10))) {
          throw new Error(`Each migration file must have a number of its own; ${name} has not.`);
        }
        const text = await readFile(new URL(name, directory), "utf8");
        const checksum = createHash("sha256").update(text).digest("hex");
        return { version, name: name.replace(/\.sql$/, ""), checksum, statements: splitStatements(text) };
      }),
    );
  })();
  return cached;
}

/** Statements end with a semicolon at the end of a line; comments are whole lines. */
export function splitStatements(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("--"))
    .join("\n")
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}

async function applyAll(target: Target, migrations: Migration[], log: (line: string) => void): Promise<void> {
  const applied = await readApplied(target.db.reader(target.signal));
  const problem = findProblem(migrations, applied);
  if (problem !== undefined) throw new Error(problem);
  for (const migration of migrations) {
    const record = applied.find(({ version }) => version === migration.version);
    if (record?.finished) continue;
    log(`migrating the database: ${migration.name}${record ? ", which was begun before" : ""}`);
    await applyOne(target, migration, record?.statements_begun ?? 0, log);
  }
}

async function applyOne(
  target: Target,
  migration: Migration,
  begun: number,
  log: (line: string) => void,
): Promise<void> {
  const { version, name, checksum, statements } = migration;
  await write(target, "INSERT IGNORE INTO schema_migrations (version, name, checksum) VALUES (?, ?, ?)", [
    version,
    name,
    checksum,
  ]);
  // The statement that was begun last may or may not have taken effect: it is repeated.
  for (let number = Math.max(begun, 1); number <= statements.length; number++) {
    await write(target, "UPDATE schema_migrations SET statements_begun = ? WHERE version = ?", [number, version]);
    try {
      const what = `statement ${number} of ${statements.length} of migration ${name}`;
      await sayWhileSlow(what, log, () => target.db.define(target.signal, statements[number - 1] as string));
    } catch (error) {
      target.signal.throwIfAborted();
      if (number === begun && isThereAlready(error)) continue;
      throw new Error(
        `Migration ${name} failed at statement ${number} of ${statements.length}: ${explainDefinition(error as Error)}` +
          " Everything before it is done. Remove the cause and start again; it goes on with this statement.",
        { cause: error },
      );
    }
  }
  await write(target, "UPDATE schema_migrations SET finished = 1 WHERE version = ?", [version]);
}

/** Whether an ALTER TABLE failed for its column (1060) or index (1061) exists: MySQL has no IF NOT EXISTS for these. */
function isThereAlready(error: unknown): boolean {
  const { errno } = error as { errno?: number };
  return errno === 1060 || errno === 1061;
}

/** The statements of the migrations that create triggers, by the names of the triggers; they are safe to repeat. */
export async function triggerStatements(): Promise<Map<string, string>> {
  const all = (await readMigrations()).flatMap(({ statements }) => statements);
  const named = all.map(
    (statement) => [/^CREATE TRIGGER IF NOT EXISTS (\w+)/.exec(statement)?.[1], statement] as const,
  );
  return new Map(named.filter((entry): entry is [string, string] => entry[0] !== undefined));
}

/** Why a statement failed, and where that is not plain, what to do about it. */
export function explainDefinition(error: Error & { errno?: number }): string {
  // Stock MySQL keeps a binary log, and then asks for SUPER where a trigger is made.
  if (error.errno === 1419) {
    return (
      "this account may not create triggers while the server keeps a binary log (error 1419). As an administrator run" +
      " SET GLOBAL log_bin_trust_function_creators = 1, or name an account that has SUPER in STOA_MIGRATION_DATABASE_URL."
    );
  }
  return error.message;
}

/** Version and name of the record that marks a database while a backup is restored into it. */
export const restoreMark = { version: 0, name: "restore" };

function findProblem(migrations: Migration[], applied: Applied[]): string | undefined {
  for (const record of applied) {
    if (record.version === restoreMark.version) {
      return "A restore into this database was not finished. Run it again: npm run stoa -- restore FILE";
    }
    const migration = migrations.find(({ version }) => version === record.version);
    if (migration === undefined) {
      return `The database was migrated by a newer version of Stoa (${record.name}). Start that version, or restore a backup.`;
    }
    if (migration.checksum !== record.checksum) {
      return `Migration ${record.name} is not the one that this database was made with. Start the version that made it.`;
    }
  }
  return undefined;
}

async function isCurrent({ db, signal }: Target, migrations: Migration[]): Promise<boolean> {
  const reader = db.reader(signal);
  return (await hasBookkeeping(reader)) && areApplied(migrations, await readApplied(reader));
}

function areApplied(migrations: Migration[], applied: Applied[]): boolean {
  return (
    applied.length === migrations.length &&
    applied.every(
      ({ finished, checksum }, index) => finished === 1 && checksum === (migrations[index] as Migration).checksum,
    )
  );
}

async function hasBookkeeping(db: Queryable): Promise<boolean> {
  return (await listTables(db)).has("schema_migrations");
}

/** The tables that the account may see. */
async function listTables(db: Queryable): Promise<Set<string>> {
  const tables = await db.rows<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
  );
  return new Set(tables.map(({ name }) => name));
}

/** The names of the tables that migrations create. */
function createdTables(migrations: readonly Migration[]): string[] {
  const names = migrations.flatMap(({ statements }) =>
    statements.map((statement) => /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.[1]),
  );
  return names.filter((name) => name !== undefined);
}

function readApplied(db: Queryable): Promise<Applied[]> {
  return db.rows<Applied>(
    "SELECT version, name, checksum, statements_begun, finished FROM schema_migrations ORDER BY version",
  );
}

/** What migrations are recorded in; safe to repeat. */
export const bookkeeping = [
  `CREATE TABLE IF NOT EXISTS schema_lease (
     id INT NOT NULL, holder VARCHAR(36) NOT NULL, expires_at BIGINT NOT NULL, PRIMARY KEY (id)
   ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  "INSERT IGNORE INTO schema_lease (id, holder, expires_at) VALUES (1, '', 0)",
  `CREATE TABLE IF NOT EXISTS schema_migrations (
     version INT NOT NULL, name VARCHAR(100) NOT NULL, checksum CHAR(64) NOT NULL,
     statements_begun INT NOT NULL DEFAULT 0, finished TINYINT NOT NULL DEFAULT 0, PRIMARY KEY (version)
   ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
];

async function createBookkeeping({ db, signal }: Target): Promise<void> {
  for (const statement of bookkeeping) await db.define(signal, statement);
}

function write({ db, signal }: Target, sql: string, params: (string | number)[] = []) {
  return db.transaction(signal, (tx) => tx.run(sql, params));
}
