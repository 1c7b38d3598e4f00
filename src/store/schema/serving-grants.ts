import { readFile } from "node:fs/promises";
import type { Database } from "../database/database.ts";
import { splitStatements } from "./migration-files.ts";

/** A right on a table that the serving account needs. */
interface Right {
  table: string;
  right: "INSERT" | "UPDATE" | "DELETE";
}

/**
 * Checks that this account has the rights of grants.sql. A new version may need rights on new tables, which an administrator
 * must grant.
 * @throws Error with one line that has the GRANT statements that are missing
 */
export async function checkServingGrants(db: Database, signal: AbortSignal): Promise<void> {
  const reader = db.longReader(signal);
  // An account with all privileges needs no further check.
  const grants = await reader.rows<Record<string, string>>("SHOW GRANTS");
  if (grants.some((row) => /^GRANT ALL PRIVILEGES ON \*\.\* /.test(Object.values(row)[0] ?? ""))) return;
  const columns = await reader.rows<{ t: string; c: string }>(
    "SELECT table_name AS t, column_name AS c FROM information_schema.columns WHERE table_schema = DATABASE() AND ordinal_position = 1",
  );
  const firstColumns = new Map(columns.map(({ t, c }) => [t, c]));
  const missing = new Map<string, string[]>();
  for (const { table, right } of await neededRights()) {
    if (await may(db, signal, table, firstColumns.get(table) ?? "id", right)) continue;
    missing.set(table, [...(missing.get(table) ?? []), right]);
  }
  if (missing.size === 0) return;
  const [self] = await reader.rows<{ account: string; name: string }>(
    "SELECT CURRENT_USER() AS account, DATABASE() AS name",
  );
  const account = (self?.account ?? "")
    .split("@")
    .map((part) => `'${part}'`)
    .join("@");
  const statements = [...missing].map(
    ([table, rights]) => `GRANT ${rights.join(", ")} ON ${self?.name}.${table} TO ${account};`,
  );
  throw new Error(
    `Commands that a service needs are denied to user ${account}. As an administrator run: ${statements.join(" ")}`,
  );
}

/** Whether this account has the right to update receipts. */
export function mayChangeReceipts(db: Database, signal: AbortSignal): Promise<boolean> {
  return may(db, signal, "receipts", "seq", "UPDATE");
}

/** The rights to write that grants.sql gives the serving account. */
async function neededRights(): Promise<Right[]> {
  const statements = splitStatements(await readFile(new URL("./grants.sql", import.meta.url), "utf8"));
  return statements.flatMap((statement) => {
    const [, rights = "", table = ""] = /^GRANT ([A-Z, ]+) ON stoa\.(\w+) TO 'stoa_serving'/.exec(statement) ?? [];
    return rights === "" ? [] : rights.split(", ").map((right) => ({ table, right: right as Right["right"] }));
  });
}

/** Lets the server explain a statement: for that it checks the same rights as for running the statement. */
async function may(
  db: Database,
  signal: AbortSignal,
  table: string,
  column: string,
  right: Right["right"],
): Promise<boolean> {
  const statement = {
    INSERT: `INSERT INTO ${table} (${column}) SELECT ${column} FROM ${table} WHERE FALSE`,
    UPDATE: `UPDATE ${table} SET ${column} = ${column} WHERE FALSE`,
    DELETE: `DELETE FROM ${table} WHERE FALSE`,
  }[right];
  try {
    await db.runDdl(signal, `EXPLAIN ${statement}`);
    return true;
  } catch (error) {
    const { errno } = error as { errno?: number };
    // Both errors mean that a right is missing, on the table or on a column. Other errors are not about rights.
    if (errno === 1142 || errno === 1143) return false;
    signal.throwIfAborted();
    return true;
  }
}
