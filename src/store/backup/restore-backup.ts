import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { sleep } from "../../timing/wait.ts";
import { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import { explainDdlError, withLease } from "../schema/migrate.ts";
import { readMigrations } from "../schema/migration-files.ts";
import { listTables, readRecords, restoreMark } from "../schema/migration-records.ts";
import { putLogRestored } from "../tables/log-head.ts";
import { readHead } from "../tables/receipts.ts";
import { type ClientProgram, clientProgram, type NamedDatabase, runClient } from "./client-program.ts";
import { type BackupHeader, findSchemaProblem } from "./format.ts";
import { flavourOf, readEngine } from "./server.ts";

/** How long a closed connection may still be listed by the server, in milliseconds. */
const goneMs = 2_000;
const pollMs = 100;

/** In binary mode the client runs no commands of its own but DELIMITER. Others could read files and start programs. */
const clientArgs = [
  "--batch",
  "--binary-mode",
  "--skip-local-infile",
  "--skip-auto-rehash",
  "--skip-reconnect",
  "--default-character-set=utf8mb4",
  "--max-allowed-packet=1G",
];

/** The statements of a migration that make `log_head`. They may be repeated. */
const ofLogHead = /^(CREATE TABLE IF NOT EXISTS|INSERT IGNORE INTO) log_head /;

export interface RestoreOptions {
  header: BackupHeader;
  /** The bytes of the backup without its last line. Throws at the end if their checksum is wrong. */
  content: AsyncIterable<Buffer>;
  /** An account that may create tables and triggers. */
  migrating: NamedDatabase;
  /** The same account, without timeouts. */
  db: Database;
  /** The account of the service. */
  serving: NamedDatabase;
  signal: AbortSignal;
}

/**
 * Restores a backup into an empty database. A mark keeps services from starting on it until the restore is complete, and
 * the log from going on or beginning until it was compared with what was published. A restore that failed can be run again.
 * @throws Error with one line when the database is not empty or in use, when the backup is of another version or engine, or
 *   when the client program fails; the signal's reason
 */
export async function restoreBackup(options: RestoreOptions): Promise<void> {
  const { header, serving, db, signal } = options;
  const migrations = await readMigrations();
  const problem = findSchemaProblem(header, migrations);
  if (problem !== undefined) throw new Error(problem);
  await checkUnused(serving, signal);
  const reader = db.longReader(signal);
  await findRemains(reader);
  const program = clientProgram("sql", checkEngine(header, await readEngine(reader)));
  // The lease keeps out other restores, and services that start. `signal` only ends the wait for the lease, so that the lease
  // can be released after an abort.
  const waiting = new AbortController();
  const giveUp = () => waiting.abort(signal.reason);
  signal.addEventListener("abort", giveUp);
  await withLease({ db, signal: waiting.signal }, async () => {
    signal.removeEventListener("abort", giveUp);
    await load(program, options);
    await keepIdsTaken(options);
    await checkRestored(options);
    // A log may have been published even if the backup is from before. Where it lacks this table, too, the migration that
    // makes it keeps what is there.
    const statements = migrations.flatMap(({ statements }) => statements).filter((sql) => ofLogHead.test(sql));
    for (const statement of statements) await db.runDdl(signal, statement);
    await db.transaction(signal, async (tx) => {
      await putLogRestored(tx, true);
      await tx.run("DELETE FROM schema_migrations WHERE version = ?", [restoreMark.version]);
    });
  });
}

/** @returns the engine of the backup and of the server. @throws Error when they differ, because their dumps do */
function checkEngine({ engine }: BackupHeader, here: string): ClientProgram["flavour"] {
  const flavour = flavourOf(here);
  if (flavourOf(engine) === flavour) return flavour;
  throw new Error(`The backup is of ${engine}, and this server is ${here}. Restore it on a server of the same engine.`);
}

/** Lets the client program run the statements of the backup. */
async function load(program: ClientProgram, options: RestoreOptions): Promise<void> {
  const { migrating, db, signal } = options;
  const preparation = prepare(await findRemains(db.longReader(signal)));
  const args = [...clientArgs, ...(program.flavour === "mariadb" ? ["--show-warnings"] : []), migrating.database];
  const client = runClient(program, args, migrating, signal);
  const warning = firstWarning(client.output);
  try {
    await pipeline(statements(preparation, options), client.input).catch(async (error) => {
      // If the client has ended early, its own error says why.
      await client.done;
      throw error;
    });
    await client.done;
    if ((await warning) !== undefined) throw new Error(`The server has changed a value: ${await warning}`);
  } catch (error) {
    throw new Error(explainDdlError(error as Error), { cause: error });
  } finally {
    client.kill();
  }
}

/**
 * Finds the warning of a server that has changed a value, because it is not strict.
 * @param output of a client that shows warnings
 * @returns the first warning, except those about values of generated columns (1906) and about rows that INSERT IGNORE skips
 *   (1062)
 */
async function firstWarning(output: Readable): Promise<string | undefined> {
  let first: string | undefined;
  for await (const line of createInterface({ input: output })) {
    if (/^Warning \(Code (?!1906|1062)\d+\): /.test(line)) first ??= line;
  }
  return first;
}

async function* statements(preparation: string, { content, db }: RestoreOptions): AsyncGenerator<Buffer> {
  yield Buffer.from(preparation);
  for await (const bytes of content) {
    db.checkWritable();
    yield bytes;
  }
}

/** The statements that mark the database, and remove the tables that an unfinished restore has left. */
function prepare(remains: readonly string[]): string {
  const { version, name } = restoreMark;
  return [
    `INSERT IGNORE INTO schema_migrations (version, name, checksum) VALUES (${version}, '${name}', '')`,
    `DELETE FROM schema_migrations WHERE version <> ${version}`,
    "SET SESSION foreign_key_checks = 0",
    ...remains.map((table) => `DROP TABLE \`${table.replaceAll("`", "``")}\``),
  ]
    .map((statement) => `${statement};\n`)
    .join("");
}

/** Keeps the ids of removed posts and comments from being used again: they are not in the tables whose ids are counted up. */
async function keepIdsTaken({ db, signal }: RestoreOptions): Promise<void> {
  const reader = db.longReader(signal);
  const present = await listTables(reader);
  for (const table of ["posts", "comments"]) {
    if (!present.has(`removed_${table}`)) continue;
    const [row] = await reader.rows<{ highest: number | null }>(`SELECT MAX(id) AS highest FROM removed_${table}`);
    if (row?.highest) await db.runDdl(signal, `ALTER TABLE ${table} AUTO_INCREMENT = ${BigInt(row.highest) + 1n}`);
  }
}

/** @throws Error when the restored migrations or the newest receipt differ from the header */
async function checkRestored({ db, header, signal }: RestoreOptions): Promise<void> {
  const reader = db.longReader(signal);
  const records = (await readRecords(reader)).filter(({ version }) => version !== restoreMark.version);
  const names = records.filter(({ finished }) => finished === 1).map(({ name }) => name);
  if (names.join() !== header.schema.map(({ name }) => name).join()) {
    throw new Error(`The restored database has other migrations than the backup names: ${names.join(", ")}.`);
  }
  const { seq, hash } = await readHead(reader);
  if (Number(seq) !== header.head.seq || hash !== header.head.hash) {
    throw new Error(`The restored ledger ends at receipt ${seq} (${hash}), not at the receipt that the backup names.`);
  }
}

/**
 * The names of the tables that an unfinished restore has left.
 * @throws Error if there are other tables
 */
async function findRemains(db: Queryable): Promise<string[]> {
  const names = await listTables(db);
  const others = [...names].filter((name) => name !== "schema_lease" && name !== "schema_migrations");
  const versions = names.has("schema_migrations") ? (await readRecords(db)).map(({ version }) => version) : [];
  if (versions.includes(restoreMark.version)) return others;
  if (others.length === 0 && versions.length === 0) return [];
  const [{ name = "" } = {}] = await db.rows<{ name: string }>("SELECT DATABASE() AS name");
  throw new Error(
    `The database ${name} is not empty: it has ${names.size} tables. A backup can be restored only into an empty database.`,
  );
}

/**
 * Checks that no service uses the database. A running service has open connections, even if its database was recreated. The
 * serving account sees its own connections; those of others only with the right PROCESS.
 * @throws Error when another connection uses the database
 */
async function checkUnused(serving: NamedDatabase, signal: AbortSignal): Promise<void> {
  const db = new Database({ address: serving, connections: 1 });
  try {
    const reader = db.longReader(signal);
    const [self] = await reader.rows<{ id: number }>("SELECT CONNECTION_ID() AS id");
    const endsAt = performance.now() + goneMs;
    for (;;) {
      const processes = await reader.rows<{ Id: number; User: string; Host: string; db: string | null }>(
        "SHOW PROCESSLIST",
      );
      const found = processes.find(({ Id, db }) => Number(Id) !== Number(self?.id) && db === serving.database);
      if (found === undefined) return;
      if (performance.now() > endsAt) {
        throw new Error(
          `The database ${serving.database} is in use by ${found.User} (${found.Host}). Stop the service and everything else that uses the database.`,
        );
      }
      await sleep(pollMs, signal);
    }
  } finally {
    await db.close();
  }
}
