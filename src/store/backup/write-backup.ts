import { createHash } from "node:crypto";
import { Database } from "../database/database.ts";
import { createdTables, isTrigger, type Migration } from "../schema/migration-files.ts";
import { appliedMigrations, incompleteReason, listTables, recordTables } from "../schema/migration-records.ts";
import { describeSchema } from "../schema/schema-dump.ts";
import { readHead } from "../tables/receipts.ts";
import { clientProgram, type NamedDatabase, runClient } from "./client-program.ts";
import { type BackupHeader, endText, headerText } from "./format.ts";
import { flavourOf, readEngine } from "./server.ts";

/**
 * Tables whose rows are not in backups. Client addresses must be deleted when their limits end, also from backups. Services
 * make the rows of search again. The last fsck has not checked the restored database.
 */
const withoutRows = /^(?:address_limits|last_fsck|search_\w+)$/;
/** Not in backups: a restore creates it. */
const leaseTable = "schema_lease";
/** The dump begins with this table, so that the header can name the head of the same snapshot. */
const headTable = "ledger_head";
const headStatement = /^INSERT INTO `ledger_head` \((.*)\) VALUES\s*\((.*)\);\n/;

/**
 * The rows as INSERT statements, from one snapshot, without locks. The schema comes from the migrations, so that an account can
 * restore triggers that another account made.
 */
const dumpArgs = [
  "--single-transaction",
  "--skip-lock-tables",
  "--compact",
  "--no-create-info",
  "--skip-triggers",
  "--complete-insert",
  "--hex-blob",
  "--no-tablespaces",
  "--default-character-set=utf8mb4",
  "--max-allowed-packet=1G",
  // The approximate length of a statement, in bytes. Servers accept at least 1 MiB.
  "--net-buffer-length=262144",
];
const mysqlDumpArgs = ["--set-gtid-purged=OFF", "--column-statistics=0", "--loose-skip-masking-policies"];
/** The first statement of a dump ends within this many bytes. */
const maxHeadBytes = 64 * 1024;

/**
 * With the `settings`, values are restored unchanged: an id of 0 does not become a new id, and times are UTC. Foreign keys are
 * not checked, because rows come in any order, and orphaned rows are restored too. Statements have no timeout.
 */
const general = ["SET NAMES utf8mb4", "SET SESSION time_zone = '+00:00', foreign_key_checks = 0"];
const settings = {
  // mariadb-dump writes values of generated columns. A strict MariaDB refuses them; another one warns and computes its own.
  mariadb: [
    ...general,
    "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'",
    "SET SESSION max_statement_time = 0, max_error_count = 65535",
  ],
  mysql: [
    ...general,
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', max_execution_time = 0",
  ],
};

export interface BackupOptions {
  /** An account that may read every table. */
  address: NamedDatabase;
  signal: AbortSignal;
  now: Date;
  /** Writes the next part of the text. The backup waits until it has. */
  write(text: Buffer): Promise<void>;
}

export interface BackupSummary {
  header: BackupHeader;
  /** Tables that are not Stoa's, and so not in the backup. */
  foreign: string[];
}

/**
 * Writes a snapshot of a whole database, by the dump program of its engine. Others may read and write meanwhile.
 * @throws Error with one line when the database is not Stoa's or is migrated meanwhile, or when the program fails; StoaError
 *   when the database is away; the signal's reason
 */
export async function writeBackup(options: BackupOptions): Promise<BackupSummary> {
  const { address, signal, now } = options;
  const db = new Database({ address, connections: 1, timeoutMs: Number.POSITIVE_INFINITY });
  try {
    const reader = db.longReader(signal);
    const migrations = await appliedMigrations(reader);
    const present = await listTables(reader);
    const tables = ownTables(present, migrations);
    // Throws before anything is dumped if the ledger has no head.
    await readHead(reader);
    const engine = await readEngine(reader);
    // The snapshot does not cover the schema, so the schema must not change meanwhile.
    const before = await describeSchema(reader);
    const checkSchemaStayed = async () => {
      const applied = await appliedMigrations(reader);
      if (applied.length === migrations.length && (await describeSchema(reader)) === before) return;
      throw new Error("The database was migrated during the backup. Make it again.");
    };
    const schema = migrations.map(({ name, checksum }) => ({ name, checksum }));
    const about = { format: 2 as const, made_at: now.toISOString(), engine, schema };
    const header = await copy(about, dump(engine, tables, address, signal), migrations, options).catch(
      async (error) => {
        await checkSchemaStayed();
        throw error;
      },
    );
    await checkSchemaStayed();
    const foreign = [...present].filter((name) => !tables.includes(name) && name !== leaseTable);
    return { header, foreign: foreign.sort() };
  } finally {
    await db.close();
  }
}

/** Writes the text of a backup. @returns its header, with the head of the dump */
async function copy(
  about: Omit<BackupHeader, "head">,
  statements: AsyncIterable<Buffer>,
  migrations: readonly Migration[],
  { write }: BackupOptions,
): Promise<BackupHeader> {
  const hash = createHash("sha256");
  const add = (bytes: Buffer) => {
    hash.update(bytes);
    return write(bytes);
  };
  let header: BackupHeader | undefined;
  for await (const bytes of statements) {
    if (header === undefined) {
      header = { ...about, head: dumpedHead(bytes.toString("latin1")) };
      await add(Buffer.from(headerText(header) + schemaText(about.engine, migrations)));
    }
    await add(bytes);
  }
  if (header === undefined) throw new Error("The dump is empty.");
  // As `restoreBackup` does: other programs may run these statements, too.
  if (createdTables(migrations).includes("log_head")) await add(Buffer.from("UPDATE log_head SET restored = 1;\n"));
  await write(Buffer.from(endText(hash.digest("hex"))));
  return header;
}

/** The INSERT statements of the tables, in parts. The first part has the whole first statement. */
async function* dump(
  engine: string,
  tables: readonly string[],
  server: NamedDatabase,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const program = clientProgram("dump", flavourOf(engine));
  const args = [...dumpArgs, ...(program.flavour === "mysql" ? mysqlDumpArgs : [])];
  const names = tables.filter((name) => !withoutRows.test(name));
  const run = runClient(program, [...args, server.database, ...names], server, signal);
  run.input.end();
  try {
    let begun: Buffer | undefined = Buffer.alloc(0);
    for await (const bytes of run.output as AsyncIterable<Buffer>) {
      if (begun === undefined) {
        yield bytes;
        continue;
      }
      begun = Buffer.concat([begun, bytes]);
      // Skips what comes before: mariadb-dump prints a line that other clients do not understand.
      const start = begun.indexOf("INSERT INTO ");
      if (begun.length < maxHeadBytes && (start < 0 || begun.indexOf(";\n", start) < 0)) continue;
      yield begun.subarray(Math.max(start, 0));
      begun = undefined;
    }
    await run.done;
  } finally {
    run.kill();
  }
}

/** Reads the head of the ledger from the first statement of a dump. @throws Error if that is another statement */
function dumpedHead(text: string): BackupHeader["head"] {
  const [, names, values] = headStatement.exec(text) ?? [];
  if (names === undefined || values === undefined)
    throw new Error("The dump does not begin with the head of the ledger.");
  const value = (name: string) => values.split(",")[names.split(", ").indexOf(`\`${name}\``)] ?? "";
  return { seq: Number(value("seq")), hash: value("hash").slice(1, -1) };
}

/** Stoa's tables, the one with the head first. @throws Error when one of them is missing */
function ownTables(present: ReadonlySet<string>, migrations: readonly Migration[]): string[] {
  const names = [...new Set([headTable, "schema_migrations", ...createdTables(migrations)])];
  const missing = names.filter((name) => !present.has(name)).sort();
  if (missing.length > 0) throw new Error(incompleteReason(missing.map((name) => `the table ${name}`)));
  return names;
}

/** The statements of the migrations that make the schema. The account that restores them becomes the definer of triggers. */
function schemaText(engine: string, migrations: readonly Migration[]): string {
  const definitions = migrations
    .flatMap(({ statements }) => statements)
    // Without INSERT and UPDATE: the dump has the rows.
    .filter((statement) => /^(?:CREATE|ALTER|DROP|RENAME)\b/i.test(statement));
  return (
    [...settings[flavourOf(engine)], ...recordTables, ...definitions]
      .map((statement) => statement.replace(/\s*\n\s*/g, " "))
      // A trigger may hold several statements.
      .map((statement) => (isTrigger(statement) ? `DELIMITER ;;\n${statement};;\nDELIMITER ;\n` : `${statement};\n`))
      .join("")
  );
}
