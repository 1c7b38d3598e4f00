import { readFile } from "node:fs/promises";
import type { Database } from "../database/database.ts";
import { schemaFaultOf } from "../database/database-errors.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Finding, Outcome } from "../recount/finding.ts";
import { missingTriggers } from "./append-only.ts";
import { generatedColumns } from "./generated-columns.ts";
import { tableOfTrigger, triggerStatements } from "./migration-files.ts";
import { incompleteReason } from "./migration-records.ts";
import { describeSchema } from "./schema-dump.ts";

/** Something that is missing, and the statement that makes it, if there is one. */
interface Missing {
  finding: Finding;
  definition: string | undefined;
}

/**
 * Finds tables, columns, indexes, foreign keys and triggers that are missing or differ from those of the migrations. Additional
 * ones are not findings.
 * @param db should use the account that may alter the schema: others may not see triggers
 * @param repair whether to restore triggers and stored generated columns; for such a column the engine copies the table
 * @param options.triggers whether triggers are wanted
 * @param options.note called if triggers cannot be checked, or are not wanted
 */
export async function* checkSchema(
  db: Database,
  signal: AbortSignal,
  repair: boolean,
  { triggers, note }: { triggers: boolean; note: (line: string) => void },
): AsyncGenerator<Outcome, void> {
  const reader = db.longReader(signal);
  const toMake = triggers ? await triggersToMake(reader, note) : await noteTriggers(reader, note);
  for (const { finding, definition } of [...(await missingParts(reader)), ...toMake]) {
    const repaired = repair && definition !== undefined && (await define(db, signal, definition));
    yield { finding, repaired };
  }
}

/** Runs a statement that makes a missing part. @returns false when the schema lacks something that the statement needs */
async function define(db: Database, signal: AbortSignal, definition: string): Promise<boolean> {
  try {
    await db.runDdl(signal, definition);
    return true;
  } catch (error) {
    if (schemaFaultOf(error) !== undefined) return false;
    throw error;
  }
}

/**
 * Checks that a database has every table, column (by name) and index that requests need: a dump may have been restored in part.
 * Triggers are not checked, because each start restores them; nor are foreign keys, because no request needs them.
 * @returns one line that names what is missing; undefined if nothing is
 */
export async function whyIncomplete(db: Queryable): Promise<string | undefined> {
  const actual = parse(await describeSchema(db));
  const missing = [...(await recordedSchema())].flatMap(([table, lines]) => {
    const there = actual.get(table);
    if (there === undefined) return onlyForMigrations.has(table) ? [] : [`the table ${table}`];
    const columns = new Set([...there].map(nameOf));
    return [...lines].flatMap((line) => {
      if (/^(?:trigger|foreign key) /.test(line)) return [];
      if (/^(?:unique )?index /.test(line)) return there.has(line) ? [] : [`the ${line} of ${table}`];
      return columns.has(nameOf(line)) ? [] : [`the column ${table}.${nameOf(line)}`];
    });
  });
  return missing.length === 0 ? undefined : incompleteReason(missing);
}

/** Tables that the next migration creates again if they are missing. */
const onlyForMigrations = new Set(["schema_lease"]);

/** The name of the column that a line describes. */
function nameOf(line: string): string {
  return line.split(" ")[0] as string;
}

/** The lines of each table in schema.txt, which is made from the migrations. */
async function recordedSchema(): Promise<Map<string, Set<string>>> {
  return parse(await readFile(new URL("./schema.txt", import.meta.url), "utf8"));
}

/** Lines of schema.txt that the database lacks, without triggers. */
async function missingParts(db: Queryable): Promise<Missing[]> {
  const recorded = await recordedSchema();
  const actual = parse(await describeSchema(db));
  const generated = await generatedColumns();
  // A dump may have restored a generated column as a plain column, which nothing updates.
  const definitionOf = (table: string, line: string) =>
    line.endsWith(" generated") ? generated.get(`${table}.${nameOf(line)}`) : undefined;
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
  return names.map((name) => {
    const statement = statements.get(name) as string;
    return missing(tableOfTrigger(statement), `the trigger ${name} is missing`, statement);
  });
}

/** Tells by `note` which triggers exist although none is wanted. @returns nothing: that is no finding */
async function noteTriggers(db: Queryable, note: (line: string) => void): Promise<Missing[]> {
  const names = [...(await triggerStatements()).keys()];
  const lacking = (await missingTriggers(db)) ?? names;
  const there = names.filter((name) => !lacking.includes(name));
  note(
    there.length === 0
      ? "STOA_LEDGER_TRIGGERS is off: no trigger protects the ledger; the rights of the serving account must"
      : `STOA_LEDGER_TRIGGERS is off, but these triggers exist: ${there.join(", ")}`,
  );
  return [];
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
