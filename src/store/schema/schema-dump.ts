import type { Queryable } from "../database/queryable.ts";

/**
 * Describes the schema of the current database as text (see schema.txt), the same on MySQL and MariaDB: without the details in
 * which they differ, such as display widths and the expressions of generated columns.
 */
export async function describeSchema(db: Queryable): Promise<string> {
  const columns = await db.rows<Column>(
    `SELECT table_name AS table_name, column_name AS name, column_type AS type, is_nullable AS nullable,
       column_default AS fallback, extra AS extra, collation_name AS collation
     FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`,
  );
  const indexes = await db.rows<Line>(
    `SELECT table_name AS table_name, CONCAT(IF(non_unique = 0, 'unique ', ''), 'index ', index_name, ' (',
       GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', '), ')') AS line
     FROM information_schema.statistics WHERE table_schema = DATABASE()
     GROUP BY table_name, index_name, non_unique ORDER BY table_name, index_name`,
  );
  const references = await db.rows<Line>(
    `SELECT table_name AS table_name, CONCAT('foreign key ', constraint_name, ' (', column_name, ') to ',
       referenced_table_name, ' (', referenced_column_name, ')') AS line
     FROM information_schema.key_column_usage
     WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL ORDER BY table_name, constraint_name`,
  );
  const triggers = await db.rows<Line>(
    `SELECT event_object_table AS table_name,
       CONCAT('trigger ', trigger_name, ' ', LOWER(action_timing), ' ', LOWER(event_manipulation)) AS line
     FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY event_object_table, trigger_name`,
  );
  // Sorted here, because the engines sort an underscore differently.
  const tables = [...new Set(columns.map(({ table_name }) => table_name))].sort();
  const linesOf = (lines: Line[], table: string) =>
    lines.filter((each) => each.table_name === table).map((each) => each.line);
  return tables
    .map((table) => {
      const lines = [
        ...columns.filter((column) => column.table_name === table).map(describeColumn),
        ...linesOf(indexes, table),
        ...linesOf(references, table),
        ...linesOf(triggers, table),
      ];
      return `${table}\n${lines.map((line) => `  ${line}\n`).join("")}`;
    })
    .join("\n");
}

interface Column {
  table_name: string;
  name: string;
  type: string;
  nullable: string;
  fallback: string | null;
  extra: string;
  collation: string | null;
}

interface Line {
  table_name: string;
  line: string;
}

function describeColumn({ name, type, nullable, fallback, extra, collation }: Column): string {
  const shown = fallback?.replace(/^'(.*)'$/, "$1") ?? null;
  return [
    name,
    type.replace(/^(tinyint|smallint|int|bigint)\(\d+\)/, "$1"),
    nullable === "NO" ? "not null" : "null",
    collation === null ? "" : `collate ${collation}`,
    shown === null || shown === "NULL" ? "" : `default ${shown}`,
    /generated/i.test(extra) ? "generated" : "",
    extra.includes("auto_increment") ? "auto_increment" : "",
  ]
    .filter((part) => part !== "")
    .join(" ");
}
