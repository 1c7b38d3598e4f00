import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";

const folder = new URL("./migrations/", import.meta.url);

export interface Migration {
  version: number;
  name: string;
  /** SHA-256 of the file, in hexadecimal. */
  checksum: string;
  statements: string[];
}

let cached: Promise<Migration[]> | undefined;

/** The migrations of this program, in order. */
export function readMigrations(): Promise<Migration[]> {
  cached ??= (async () => {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
    return Promise.all(
      names.map(async (name, index) => {
        const version = Number.parseInt(name, 10);
        if (!(version > Number.parseInt(names[index - 1] ?? "0", 10))) {
          throw new Error(`Each migration file needs a higher number than the one before; ${name} has none.`);
        }
        const text = await readFile(new URL(name, folder), "utf8");
        const checksum = createHash("sha256").update(text).digest("hex");
        return { version, name: name.replace(/\.sql$/, ""), checksum, statements: splitStatements(text) };
      }),
    );
  })();
  return cached;
}

/** Splits an SQL file. Statements end with a semicolon at the end of a line; comments are whole lines. */
export function splitStatements(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("--"))
    .join("\n")
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}

/** The names of the tables that migrations create. */
export function createdTables(migrations: readonly Migration[]): string[] {
  const names = migrations.flatMap(({ statements }) =>
    statements.map((statement) => /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.[1]),
  );
  return names.filter((name) => name !== undefined);
}

/** Whether a statement creates a trigger. */
export function isTrigger(statement: string): boolean {
  return /^CREATE TRIGGER\b/.test(statement);
}

/** The table of the trigger that a statement creates. */
export function tableOfTrigger(statement: string): string {
  return /^CREATE TRIGGER .*? ON (\w+) /.exec(statement)?.[1] ?? "";
}

/** The statements that create triggers, by the name of the trigger. They may be repeated. */
export async function triggerStatements(): Promise<Map<string, string>> {
  const all = (await readMigrations()).flatMap(({ statements }) => statements);
  const named = all.map(
    (statement) => [/^CREATE TRIGGER IF NOT EXISTS (\w+)/.exec(statement)?.[1], statement] as const,
  );
  return new Map(named.filter((entry): entry is [string, string] => entry[0] !== undefined));
}
