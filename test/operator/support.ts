import { createConnection, type RowDataPacket } from "mysql2/promise";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { operatorCommands } from "../../src/operator/commands.ts";
import { runOperatorCommand } from "../../src/operator/run.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

export interface Outcome {
  status: number;
  /** The lines on standard output and on standard error. */
  out: string[];
  notes: string[];
}

/** Runs a command of an operator in this process, on the settings of a service with this database and an empty data folder. */
export function operate(
  database: DatabaseConfig,
  args: string[],
  signal?: AbortSignal,
  onOut?: (line: string) => void,
): Promise<Outcome> {
  return operateWith({ STOA_DATABASE_URL: urlOf(database), STOA_DATA_DIR: scratchFolder() }, args, signal, onOut);
}

/** The same with settings of any kind. */
export async function operateWith(
  settings: Record<string, string>,
  [name, ...args]: string[],
  signal: AbortSignal = new AbortController().signal,
  onOut: (line: string) => void = () => {},
): Promise<Outcome> {
  const command = operatorCommands.find((each) => each.name === name);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  const out: string[] = [];
  const notes: string[] = [];
  const status = await runOperatorCommand(command, args, {
    environment: settings,
    folder: process.cwd(),
    signal,
    out: (line) => {
      out.push(line);
      onOut(line);
    },
    note: (line) => notes.push(line),
  });
  return { status, out, notes };
}

/** Which kind of server has a database. */
export async function flavourOf(config: DatabaseConfig): Promise<"mariadb" | "mysql"> {
  const [server] = await query<{ version: string }>(config, "SELECT VERSION() AS version");
  return server?.version.includes("MariaDB") ? "mariadb" : "mysql";
}

/** Runs statements on a connection of their own: one that stayed open would count as a user of the database. */
export async function query<Row>(config: DatabaseConfig, ...statements: string[]): Promise<Row[]> {
  const connection = await createConnection({ ...config, supportBigNumbers: true, bigNumberStrings: true });
  try {
    let rows: RowDataPacket[] = [];
    for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement);
    return rows as unknown as Row[];
  } finally {
    await connection.end();
  }
}
