import type { Queryable } from "../database/queryable.ts";
import type { Migration } from "../schema/migration-files.ts";

/** A table as it is copied. */
export interface Table {
  readonly name: string;
  /** Without generated columns: the server computes them again. */
  readonly columns: readonly Column[];
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
}

export interface Column {
  readonly name: string;
  readonly kind: Kind;
}

/** How a value of a column is written in SQL. */
export type Kind = "number" | "text" | "bytes";

const kinds: Record<Kind, RegExp> = {
  number: /^(?:tiny|small|medium|big)?int$|^decimal$/,
  text: /^(?:var)?char$|^(?:tiny|medium|long)?text$|^(?:enum|set|date|datetime|time|timestamp)$/,
  bytes: /^(?:var)?binary$|^(?:tiny|medium|long)?blob$/,
};

/** The tables of this database, by name. @throws Error when one has a column that cannot be copied exactly */
export async function readTables(db: Queryable): Promise<Table[]> {
  const columns = await db.rows<{ table_name: string; name: string; type: string; extra: string }>(
    `SELECT c.table_name AS table_name, c.column_name AS name, c.data_type AS type, c.extra AS extra
     FROM information_schema.columns c
     JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
     WHERE c.table_schema = DATABASE() AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position`,
  );
  const keys = await db.rows<{ table_name: string; name: string }>(
    `SELECT table_name AS table_name, column_name AS name FROM information_schema.statistics
     WHERE table_schema = DATABASE() AND index_name = 'PRIMARY' ORDER BY table_name, seq_in_index`,
  );
  return [...new Set(columns.map(({ table_name }) => table_name))].sort().map((name) => ({
    name,
    columns: columns
      .filter(
        (column) => column.table_name === name && !/\b(?:STORED|VIRTUAL|PERSISTENT) GENERATED\b/i.test(column.extra),
      )
      .map((column) => ({ name: column.name, kind: kindOf(name, column.name, column.type) })),
    key: keys.filter((column) => column.table_name === name).map((column) => column.name),
  }));
}

/** Every table and view of this database. */
export async function tableNames(db: Queryable): Promise<string[]> {
  const tables = await db.rows<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name",
  );
  return tables.map(({ name }) => name);
}

/** The names of the tables that these migrations make. */
export function tablesOf(migrations: readonly Migration[]): Set<string> {
  const names = new Set(["schema_migrations"]);
  for (const statement of migrations.flatMap(({ statements }) => statements)) {
    const made = /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/.exec(statement)?.[1];
    if (made !== undefined) names.add(made);
    const dropped = /^DROP TABLE (?:IF EXISTS )?(\w+)/.exec(statement)?.[1];
    if (dropped !== undefined) names.delete(dropped);
  }
  return names;
}

function kindOf(table: string, column: string, type: string): Kind {
  const found = Object.entries(kinds).find(([, types]) => types.test(type.toLowerCase()));
  if (found === undefined) throw new Error(`${table}.${column} has the type ${type}, which a backup cannot hold.`);
  return found[0] as Kind;
}
