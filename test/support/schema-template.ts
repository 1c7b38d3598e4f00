import { createConnection, type RowDataPacket } from "mysql2/promise";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { Database } from "../../src/store/database/database.ts";
import { migrate } from "../../src/store/schema/migrate.ts";

/**
 * Runs the migrations in a database of this name, which is dropped again, and returns statements that lead to the same many
 * times as fast. They go to the server in one message.
 */
export async function makeSchemaTemplate(server: Omit<DatabaseConfig, "database">, name: string): Promise<string> {
  const admin = await createConnection(server);
  const rows = async (sql: string) => (await admin.query<RowDataPacket[]>(sql))[0];
  try {
    await admin.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
    const db = new Database({ address: { ...server, database: name }, connections: 2 });
    await migrate(db, { log: () => {} }).finally(() => db.close());
    await admin.query(`USE ${name}`);
    const statements: string[] = ["SET foreign_key_checks = 0"];
    for (const table of (await rows("SHOW TABLES")).map((row) => Object.values(row)[0] as string)) {
      const [created] = await rows(`SHOW CREATE TABLE ${table}`);
      statements.push(created?.["Create Table"]);
      for (const row of await rows(`SELECT * FROM ${table}`)) {
        const isGenerated = await generatedColumns(rows, name, table);
        const columns = Object.keys(row).filter((column) => !isGenerated.has(column));
        const values = columns.map((column) => admin.escape(row[column]));
        statements.push(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${values.join(", ")})`);
      }
    }
    for (const { Trigger: trigger } of await rows("SHOW TRIGGERS")) {
      const [created] = await rows(`SHOW CREATE TRIGGER ${trigger}`);
      statements.push(created?.["SQL Original Statement"]);
    }
    return statements.join(";\n");
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${name}`);
    await admin.end();
  }
}

async function generatedColumns(
  rows: (sql: string) => Promise<RowDataPacket[]>,
  schema: string,
  table: string,
): Promise<ReadonlySet<string>> {
  const generated = await rows(
    `SELECT column_name AS name FROM information_schema.columns
     WHERE table_schema = '${schema}' AND table_name = '${table}' AND extra LIKE '%GENERATED%'`,
  );
  return new Set(generated.map(({ name }) => name as string));
}
