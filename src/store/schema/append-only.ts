import { Database } from "../database/database.ts";
import type { DatabaseAddress } from "../database/pool/socket.ts";
import type { Queryable } from "../database/queryable.ts";
import { explainDdlError } from "./migrate.ts";
import { triggerStatements } from "./migration-files.ts";

/** How long it may take to look for triggers with the account of migrations, in milliseconds. */
const migratingTimeoutMs = 3_000;

/*
 * Triggers refuse to change or delete receipts, acts of moderation and entries of the log. Two more keep older versions of Stoa
 * from ignoring locks and votes on comments. A restored dump may lack them: then everything works, but nothing is protected.
 */

/**
 * The names of missing triggers; undefined if this account cannot tell: information_schema shows triggers only to accounts with
 * the right TRIGGER.
 */
export async function missingTriggers(db: Queryable): Promise<string[] | undefined> {
  const found = await db.rows<{ name: string }>(
    "SELECT trigger_name AS name FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
  );
  const names = new Set(found.map(({ name }) => name));
  const missing = [...(await triggerStatements()).keys()].filter((name) => !names.has(name));
  return missing.length === 0 || (await maySeeTriggers(db)) ? missing : undefined;
}

/**
 * Like `missingTriggers`; asks with the account `migrating` if that of `db` may not see triggers.
 */
export async function missingTriggersAs(
  migrating: DatabaseAddress | undefined,
  db: Queryable,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const missing = await missingTriggers(db);
  if (missing !== undefined || migrating === undefined) return missing;
  const other = new Database({ address: migrating, connections: 1, timeoutMs: migratingTimeoutMs });
  return await missingTriggers(other.reader(signal)).finally(() => other.close());
}

/**
 * Creates missing triggers.
 * @returns a warning for the operator if one cannot be created; undefined if all exist now, or this account may not see them
 */
export async function restoreTriggers(
  db: Database,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<string | undefined> {
  const missing = (await missingTriggers(db.longReader(signal))) ?? [];
  const statements = await triggerStatements();
  for (const name of missing) {
    try {
      await db.runDdl(signal, statements.get(name) as string);
      log(`the trigger ${name} was missing and has been restored`);
    } catch (error) {
      signal.throwIfAborted();
      return `${warningOf(missing)} They could not be restored: ${explainDdlError(error as Error)}`;
    }
  }
  return undefined;
}

/** The warning for the operator; undefined if no trigger is missing. */
export function warningOf(missing: readonly string[]): string | undefined {
  if (missing.length === 0) return undefined;
  return (
    "The database does not prevent changes to receipts, to the record of moderation or to the log: it lacks the" +
    ` ${missing.length === 1 ? "trigger" : "triggers"} ${missing.join(" and ")}, as after a restore without triggers.` +
    " A start with an account that may create triggers (STOA_MIGRATION_DATABASE_URL) restores them."
  );
}

/** Whether this account has the right TRIGGER on the receipts. Rights by a role are not considered. */
async function maySeeTriggers(db: Queryable): Promise<boolean> {
  const grantee = `CONCAT('''', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), '''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')`;
  const mine = `WHERE grantee = ${grantee} AND privilege_type = 'TRIGGER'`;
  const rows = await db.rows(
    `SELECT 1 FROM information_schema.user_privileges ${mine}
     UNION ALL SELECT 1 FROM information_schema.schema_privileges ${mine} AND DATABASE() LIKE table_schema
     UNION ALL SELECT 1 FROM information_schema.table_privileges ${mine}
       AND table_schema = DATABASE() AND table_name = 'receipts'`,
  );
  return rows.length > 0;
}
