// The accounts of grants.sql in a private database. They have no password: the socket's folder keeps others out.
import { readFileSync } from "node:fs";
import { splitStatements } from "../../store/schema/migration-files.ts";
import { type Administrator, administer } from "./administrator.ts";

/** The account that may create and alter tables. */
export const migratingUser = "stoa_migration";
/** The account of the service. It has only the rights that the service needs, and cannot change or delete a receipt. */
export const servingUser = "stoa_serving";

const never = new AbortController().signal;
const onTable = / ON stoa\.(?!\*)/;
const statements = splitStatements(readFileSync(new URL("../../store/schema/grants.sql", import.meta.url), "utf8")).map(
  (statement) =>
    statement
      .replace("CREATE USER", "CREATE USER IF NOT EXISTS")
      .replace(/ IDENTIFIED BY '[^']*'/, "")
      .replace(/'@'%'/g, "'@'localhost'"),
);

/** Creates the accounts, with exactly the rights that need no tables. Nobody else may use the database meanwhile. */
export function ensureAccounts(administrator: Administrator, signal = never): Promise<void> {
  return administer(administrator, signal, async (connection) => {
    for (const statement of statements.filter((each) => each.startsWith("CREATE USER"))) {
      await connection.query(statement);
    }
    // An earlier version may have granted more rights.
    for (const user of [migratingUser, servingUser]) {
      await connection.query(`REVOKE ALL PRIVILEGES, GRANT OPTION FROM '${user}'@'localhost'`);
    }
    for (const statement of statements.filter((each) => each.startsWith("GRANT") && !onTable.test(each))) {
      await connection.query(statement);
    }
  });
}

/** Grants the rights on single tables. The tables must exist. */
export function grantTables(administrator: Administrator, signal = never): Promise<void> {
  return administer(administrator, signal, async (connection) => {
    for (const statement of statements.filter((each) => onTable.test(each))) await connection.query(statement);
  });
}
