import { readMigrations } from "./migration-files.ts";

/**
 * Statements that define each stored generated column again, as the migrations do, by column: `posts.score`. The engine then
 * copies the table and computes all values. Virtual columns are left out, because they have no stored values.
 */
export async function generatedColumns(): Promise<Map<string, string>> {
  const statements = (await readMigrations()).flatMap((migration) => migration.statements);
  const columns = statements.flatMap((statement) => {
    const table = /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.[1];
    if (table === undefined) return [];
    return [...statement.matchAll(definition)].map(
      ([, name, type]) => [`${table}.${name}`, `ALTER TABLE ${table} MODIFY ${name} ${type}`] as const,
    );
  });
  return new Map(columns);
}

/** A column of CREATE TABLE: its name, and the rest of its definition. */
const definition = /^\s*(\w+) (\w+ GENERATED ALWAYS AS \([^;]*?\) STORED),?$/gm;
