import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import { explainDdlError } from "./migrate.ts";
import { triggerStatements } from "./migration-files.ts";

/*
 * Triggers refuse to change or delete receipts. A dump restores them only where it holds them, and where the account that
 * restores may create them; without them everything works, and nothing shows that the database has stopped guarding.
 */

/**
 * Which of the triggers are missing; undefined where this account may not know: information_schema shows triggers only to
 * accounts with the right TRIGGER.
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
 * Puts missing triggers back, where the account may.
 * @returns what the operator has to do; undefined where all triggers are there, or this account may not know
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
      log(`the trigger ${name} was missing and has been put back`);
    } catch (error) {
      signal.throwIfAborted();
      return `${warningOf(missing)} They could not be put back: ${explainDdlError(error as Error)}`;
    }
  }
  return undefined;
}

/** What to tell the operator. */
export function warningOf(missing: readonly string[]): string {
  return (
    `The database does not keep receipts from being changed: the triggers ${missing.join(" and ")} are missing, as after a` +
    " restore without triggers. A start with an account that may create triggers (STOA_MIGRATION_DATABASE_URL) puts them back."
  );
}

/** Whether this account has the right TRIGGER on the receipts, by a grant of its own. */
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
