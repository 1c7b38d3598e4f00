// The accounts of grants.sql in a private database. They need no password: the socket's folder keeps others out.
import { readFileSync } from "node:fs";
import { splitStatements } from "../../store/schema/migration-files.ts";
import { type Administrator, administer } from "./ensure-database.ts";

/** The account that may create and alter tables. */
export const migratingUser = "stoa_migration";
/** The account of the service. It has only the rights that the service needs, and cannot change or delete a receipt. */
export const servingUser = "stoa_serving";

const statements = splitStatements(readFileSync(new URL("../../store/schema/grants.sql", import.meta.url), "utf8")).map(
  (statement) =>
    statement
      .replace("CREATE USER", "CREATE USER IF NOT EXISTS")
      .replace(/ IDENTIFIED BY '[^']*'/, "")
      .replace(/'@'%'/g, "'@'localhost'"),
);
const users = statements.filter((statement) => statement.startsWith("CREATE USER"));
const grants = statements.filter((statement) => statement.startsWith("GRANT"));
const isOnTable = (statement: string) => / ON stoa\.(?!\*)/.test(statement);

/** Creates the accounts, and resets their rights to those without tables. Nobody may use the database meanwhile. */
export function ensureAccounts(administrator: Administrator, signal?: AbortSignal): Promise<void> {
  // An earlier version may have granted more rights.
  const revocations = [migratingUser, servingUser].map(
    (user) => `REVOKE ALL PRIVILEGES, GRANT OPTION FROM '${user}'@'localhost'`,
  );
  const general = grants.filter((statement) => !isOnTable(statement));
  return administer(administrator, [...users, ...revocations, ...general], signal);
}

/** Grants the rights on single tables. The tables must exist. */
export function grantTables(administrator: Administrator, signal?: AbortSignal): Promise<void> {
  return administer(administrator, grants.filter(isOnTable), signal);
}
