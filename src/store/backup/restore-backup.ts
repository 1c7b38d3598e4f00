import { sleep } from "../../timing/wait.ts";
import type { Database } from "../database/database.ts";
import type { DatabaseAddress } from "../database/pool/session.ts";
import { explainDdlError, withLease } from "../schema/migrate.ts";
import { readMigrations } from "../schema/migration-files.ts";
import { restoreMark } from "../schema/migration-records.ts";
import { type BackupHeader, findSchemaProblem, isStatement } from "./format.ts";
import { Link } from "./link.ts";
import { quoteName } from "./literals.ts";
import { tableNames } from "./tables.ts";

/** How long a closed connection may still be visible on the server, in milliseconds. */
const goneMs = 2_000;
const pollMs = 100;

export interface RestoreOptions {
  header: BackupHeader;
  /** The lines of the backup. Its end has already been checked. */
  lines: AsyncIterable<string>;
  /** An account that may create tables and triggers. */
  migrating: DatabaseAddress;
  /** The same account, without timeouts. */
  db: Database;
  /** The account of the service. */
  serving: DatabaseAddress;
  signal: AbortSignal;
}

/**
 * Restores a backup into an empty database. The database is marked until the restore is complete, so that no service starts
 * on it. A restore that failed can be run again.
 * @throws Error with one line when the database is not empty, somebody uses it, or the backup is not for this program; the
 *   driver's error; the signal's reason
 */
export async function restoreBackup(options: RestoreOptions): Promise<void> {
  const { header, serving, migrating, db, signal } = options;
  const problem = findSchemaProblem(header, await readMigrations());
  if (problem !== undefined) throw new Error(problem);
  await checkUnused(serving, signal);
  const link = await Link.open(migrating, signal);
  try {
    await findRemains(link);
    // The lease keeps out other restores, and services that start. It is always released.
    const waiting = new AbortController();
    const giveUp = () => waiting.abort(signal.reason);
    signal.addEventListener("abort", giveUp);
    await withLease({ db, signal: waiting.signal }, async () => {
      signal.removeEventListener("abort", giveUp);
      await removeRemains(link);
      await link.run(
        `INSERT INTO schema_migrations (version, name, checksum) VALUES (${restoreMark.version}, '${restoreMark.name}', '')`,
      );
      await load(link, options);
    });
  } finally {
    link.close();
  }
}

/** Runs the statements. The last one removes the mark; it runs only if all lines were read without a fault. */
async function load(link: Link, { lines, db }: RestoreOptions): Promise<void> {
  let held: string | undefined;
  for await (const line of lines) {
    if (!isStatement(line)) continue;
    db.checkWritable();
    if (held !== undefined) await run(link, held);
    held = line;
  }
  await keepIdsTaken(link);
  if (held !== undefined) await run(link, held);
}

/** The ids of removed posts and comments are not given out again. By itself the server goes on after the highest id of the table. */
async function keepIdsTaken(link: Link): Promise<void> {
  const names = await tableNames(link);
  for (const table of ["posts", "comments"]) {
    if (!names.includes(`removed_${table}`)) continue;
    const [row] = await link.rows<{ highest: number | null }>(`SELECT MAX(id) AS highest FROM removed_${table}`);
    if (row?.highest) await run(link, `ALTER TABLE ${table} AUTO_INCREMENT = ${BigInt(row.highest) + 1n}`);
  }
}

async function run(link: Link, statement: string): Promise<void> {
  try {
    await link.run(statement);
  } catch (error) {
    if (!("errno" in (error as Error))) throw error;
    const text = statement.length > 60 ? `${statement.slice(0, 60)}…` : statement;
    throw new Error(`${text}: ${explainDdlError(error as Error)}`, { cause: error });
  }
}

/**
 * The names of the tables that an unfinished restore has left.
 * @throws Error if there are other tables
 */
async function findRemains(link: Link): Promise<string[]> {
  const names = await tableNames(link);
  const others = names.filter((name) => name !== "schema_lease" && name !== "schema_migrations");
  const versions = names.includes("schema_migrations")
    ? (await link.rows<{ version: number }>("SELECT version FROM schema_migrations")).map(({ version }) => version)
    : [];
  if (versions.includes(restoreMark.version)) return others;
  if (others.length === 0 && versions.length === 0) return [];
  const [{ database = "" } = {}] = await link.rows<{ database: string }>("SELECT DATABASE() AS `database`");
  throw new Error(
    `The database ${database} is not empty: it has ${names.length} tables. A backup can be restored only into an empty database.`,
  );
}

async function removeRemains(link: Link): Promise<void> {
  const names = await findRemains(link);
  await link.run("SET SESSION foreign_key_checks = 0");
  for (const name of names) await link.run(`DROP TABLE IF EXISTS ${quoteName(name)}`);
  await link.run("DELETE FROM schema_migrations");
}

/**
 * Checks that no service uses the database. A running service keeps connections open, even if its database was recreated.
 * @throws Error when an account that this one may see uses the database
 */
async function checkUnused(serving: DatabaseAddress, signal: AbortSignal): Promise<void> {
  const link = await Link.open(serving, signal);
  try {
    const [self] = await link.rows<{ id: number }>("SELECT CONNECTION_ID() AS id");
    const endsAt = performance.now() + goneMs;
    for (;;) {
      const found = (
        await link.rows<{ Id: number; User: string; Host: string; db: string | null }>("SHOW PROCESSLIST")
      ).find(({ Id, db }) => Number(Id) !== Number(self?.id) && db === serving.database);
      if (found === undefined) return;
      if (performance.now() > endsAt) {
        throw new Error(
          `The database ${serving.database} is in use by ${found.User} (${found.Host}). Stop the service and everything else that uses the database.`,
        );
      }
      await sleep(pollMs, signal);
    }
  } finally {
    link.close();
  }
}
