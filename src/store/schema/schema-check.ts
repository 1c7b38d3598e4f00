import { readFile } from "node:fs/promises";
import type { Database } from "../database/database.ts";
import { isSchemaFault } from "../database/database-errors.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Finding, Outcome } from "../recount/finding.ts";
import { missingTriggers } from "./append-only.ts";
import { generatedColumns } from "./generated-columns.ts";
import { triggerStatements } from "./migration-files.ts";
import { describeSchema } from "./schema-dump.ts";

/** Something that is missing, and the statement that makes it. */
interface Missing {
  finding: Finding;
  definition: string | undefined;
}

/**
 * Looks for missing tables, columns, indexes, keys and triggers. Additional ones are not findings.
 * @param db an account that may alter the schema, if there is one: others may not see triggers
 * @param repair restores triggers and generated columns; for a generated column the engine copies the table
 * @param note called with what cannot be checked
 */
export async function* checkSchema(
  db: Database,
  signal: AbortSignal,
  repair: boolean,
  note: (line: string) => void,
): AsyncGenerator<Outcome, void> {
  const reader = db.longReader(signal);
  for (const { finding, definition } of [...(await missingParts(reader)), ...(await triggersToMake(reader, note))]) {
    const repaired = repair && definition !== undefined && (await define(db, signal, definition));
    yield { finding, repaired };
  }
}

/** @returns false when the schema lacks something that the statement needs */
async function define(db: Database, signal: AbortSignal, definition: string): Promise<boolean> {
  try {
    await db.runDdl(signal, definition);
    return true;
  } catch (error) {
    if (isSchemaFault(error)) return false;
    throw error;
  }
}

/** Everything except triggers. */
async function missingParts(db: Queryable): Promise<Missing[]> {
  const recorded = parse(await readFile(new URL("./schema.txt", import.meta.url), "utf8"));
  const actual = parse(await describeSchema(db));
  const generated = await generatedColumns();
  // In a table that was copied row by row, they may be plain columns that nothing keeps up to date.
  const definitionOf = (table: string, line: string) =>
    line.endsWith(" generated") ? generated.get(`${table}.${line.split(" ")[0]}`) : undefined;
  return [...recorded].flatMap(([table, lines]) => {
    const there = actual.get(table);
    if (there === undefined) return [missing(table, "the table is missing")];
    const lacking = [...lines].filter((line) => !there.has(line) && !line.startsWith("trigger "));
    return lacking.map((line) => missing(table, `the schema lacks: ${line}`, definitionOf(table, line)));
  });
}

async function triggersToMake(db: Queryable, note: (line: string) => void): Promise<Missing[]> {
  const names = await missingTriggers(db);
  if (names === undefined) {
    note("this account cannot see triggers; set STOA_MIGRATION_DATABASE_URL to check them");
    return [];
  }
  const statements = await triggerStatements();
  return names.map((name) => missing("receipts", `the trigger ${name} is missing`, statements.get(name)));
}

function missing(table: string, problem: string, definition?: string): Missing {
  return { finding: { subject: table, key: {}, problem }, definition };
}

/** The lines of each table of a described schema. */
function parse(schema: string): Map<string, Set<string>> {
  const blocks = schema.trim().split("\n\n");
  return new Map(
    blocks.map((block) => {
      const [table, ...lines] = block.split("\n");
      return [table as string, new Set(lines.map((line) => line.trim()))];
    }),
  );
}
