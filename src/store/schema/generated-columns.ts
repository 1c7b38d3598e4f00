import { readMigrations } from "./migration-files.ts";

/**
 * The statements that make the database compute a column again as the migrations define it, by column: `posts.score`. The
 * engine copies the table for each, and counts all values anew.
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
