import { createHash } from "node:crypto";
import type { DatabaseAddress } from "../database/pool/session.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Migration } from "../schema/migration-files.ts";
import { appliedMigrations, incompleteReason, recordTables, restoreMark } from "../schema/migration-records.ts";
import { readHead } from "../tables/receipts.ts";
import { type BackupHeader, endLine, headerLines } from "./format.ts";
import { Link, sessionSettings } from "./link.ts";
import { quoteName, rowLiteral } from "./literals.ts";
import { readTables, type Table, tablesOf } from "./tables.ts";

/** The approximate length of a statement, in characters. Servers accept at least 1 MiB. */
const statementLength = 256 * 1024;

/**
 * Client addresses are deleted when their limit ends, so a backup does not have them. The rows of search follow from other
 * rows: services make them again.
 */
const withoutRows = new Set([
  "address_limits",
  "search_agents",
  "search_comments",
  "search_communities",
  "search_posts",
  "search_rounds",
]);
/** A restore creates these again. */
const leaseTable = "schema_lease";

export interface BackupOptions {
  /** An account that may read every table. */
  address: DatabaseAddress;
  signal: AbortSignal;
  now: Date;
  /** Receives the next part of the text. The backup waits for it. */
  write(text: Buffer): Promise<void>;
}

export interface BackupSummary {
  header: BackupHeader;
  rows: Record<string, number>;
  /** Tables that are not Stoa's. They are not in the backup. */
  foreign: string[];
}

/**
 * Writes a whole database as it is at one moment, in one transaction with a consistent snapshot. Others may read and write
 * meanwhile; nothing is locked.
 * @throws Error with one line when the database holds no Stoa or is migrated meanwhile; the driver's error; the signal's
 *   reason
 */
export async function writeBackup({ address, signal, now, write }: BackupOptions): Promise<BackupSummary> {
  const link = await Link.open(address, signal);
  try {
    await link.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    await link.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
    const migrations = await appliedMigrations(link);
    const present = await readTables(link);
    const tables = ownTables(present, migrations);
    const header = await describe(link, migrations, now);
    const output = new Output(write);
    await output.add(headerLines(header));
    for (const statement of schemaStatements(migrations)) await output.add(`${statement};\n`);
    const rows: Record<string, number> = {};
    for (const table of tables) rows[table.name] = await copyTable(link, table, output);
    await output.add(`DELETE FROM schema_migrations WHERE version = ${restoreMark.version};\n`);
    await checkSchemaStayed(link, migrations, present);
    await output.finish(rows);
    const foreign = present.filter((table) => !tables.includes(table) && table.name !== leaseTable);
    return { header, rows, foreign: foreign.map(({ name }) => name) };
  } finally {
    link.close();
  }
}

/** Collects text into large parts, and hashes them. */
class Output {
  readonly #write: BackupOptions["write"];
  readonly #hash = createHash("sha256");
  #text = "";

  constructor(write: BackupOptions["write"]) {
    this.#write = write;
  }

  async add(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length >= statementLength) await this.#flush();
  }

  /** Writes the end. */
  async finish(rows: Record<string, number>): Promise<void> {
    await this.#flush();
    await this.#write(Buffer.from(endLine({ rows, sha256: this.#hash.digest("hex") })));
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#text);
    this.#text = "";
    this.#hash.update(bytes);
    await this.#write(bytes);
  }
}

/** @throws Error when one of Stoa's tables is missing */
function ownTables(present: readonly Table[], migrations: readonly Migration[]): Table[] {
  const tables = new Map(present.map((table) => [table.name, table]));
  const names = [...tablesOf(migrations)];
  const missing = names.filter((name) => !tables.has(name)).sort();
  if (missing.length > 0) throw new Error(incompleteReason(missing.map((name) => `the table ${name}`)));
  return names.map((name) => tables.get(name) as Table);
}

async function describe(db: Queryable, migrations: readonly Migration[], now: Date): Promise<BackupHeader> {
  const [server] = await db.rows<{ version: string }>("SELECT VERSION() AS version");
  const [number = "", ...rest] = (server?.version ?? "").split("-");
  const { seq, hash } = await readHead(db);
  return {
    format: 1,
    made_at: now.toISOString(),
    engine: `${rest.includes("MariaDB") ? "MariaDB" : "MySQL"} ${number}`,
    schema: migrations.map(({ name, checksum }) => ({ name, checksum })),
    head: { seq: Number(seq), hash },
  };
}

/**
 * The schema from the migrations, with its triggers. Both engines accept it, and the restoring account becomes the definer.
 * The database is marked until the restore is complete, so that no service uses half of it.
 */
function schemaStatements(migrations: readonly Migration[]): string[] {
  const { version, name } = restoreMark;
  const mark = `INSERT IGNORE INTO schema_migrations (version, name, checksum) VALUES (${version}, '${name}', '')`;
  const definitions = migrations
    .flatMap(({ statements }) => statements)
    // The rows come from the tables.
    .filter((statement) => /^(?:CREATE|ALTER|DROP|RENAME)\b/i.test(statement));
  // Foreign keys are not checked: rows come in any order, and a faithful copy also has orphaned rows.
  return [
    "SET NAMES utf8mb4",
    sessionSettings,
    "SET SESSION foreign_key_checks = 0",
    ...recordTables,
    mark,
    ...definitions,
  ].map((statement) => statement.replace(/\s*\n\s*/g, " "));
}

/** @returns how many rows the table has */
async function copyTable(link: Link, table: Table, output: Output): Promise<number> {
  if (withoutRows.has(table.name)) return 0;
  const names = table.columns.map(({ name }) => quoteName(name)).join(",");
  const from = `FROM ${quoteName(table.name)}`;
  const order =
    table.key.length > 0 ? ` FORCE INDEX (PRIMARY) ORDER BY ${table.key.map((name) => quoteName(name)).join(",")}` : "";
  const insert = `INSERT INTO ${quoteName(table.name)} (${names}) VALUES `;
  let count = 0;
  let length = 0;
  // The savepoint releases the table when it has been copied, so that a schema change need not wait for the whole backup.
  await link.run("SAVEPOINT before_table");
  for await (const row of link.stream(`SELECT ${names} ${from}${order}`)) {
    const values = rowLiteral(table, row);
    const begins = length === 0;
    length += values.length;
    count += 1;
    await output.add(`${begins ? insert : ","}${values}`);
    if (length >= statementLength) {
      await output.add(";\n");
      length = 0;
    }
  }
  if (length > 0) await output.add(";\n");
  await link.run("ROLLBACK TO SAVEPOINT before_table");
  return count;
}

/** Checks that the schema is still the same: schema changes are not part of the snapshot. @throws Error */
async function checkSchemaStayed(
  link: Link,
  migrations: readonly Migration[],
  tables: readonly Table[],
): Promise<void> {
  await link.run("COMMIT");
  const same =
    JSON.stringify(await readTables(link)) === JSON.stringify(tables) &&
    (await appliedMigrations(link).catch(() => [])).length === migrations.length;
  if (!same) throw new Error("The database was migrated during the backup. Make it again.");
}
