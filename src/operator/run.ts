import { relative } from "node:path";
import { asksForHelp, exitStatus } from "../cli/command.ts";
import { help as clientHelp } from "../cli/commands.ts";
import { escapeUnsafe } from "../cli/terminal-text.ts";
import { UsageError } from "../cli/usage.ts";
import { ConfigError, readConfig } from "../config/config.ts";
import { schemaFaultOf } from "../store/database/database-errors.ts";
import { restoreAdvice } from "../store/schema/migration-records.ts";
import type { OperatorCommand, OperatorContext } from "./command.ts";

/** What `runOperatorCommand` needs from its process. */
export interface Surroundings extends Omit<OperatorContext, "config"> {
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The list of commands: those for operators, then those for everybody. */
export function listCommands(commands: readonly OperatorCommand[]): string {
  const lines = commands.map(({ name, summary }) => `stoa ${name.padEnd(8)} ${summary}\n`);
  return `Usage: npm run stoa -- COMMAND …\n\n${lines.join("")}${clientHelp.replace(/^Usage: .*\n\n/, "")}`;
}

/**
 * Runs a command of an operator. Failures are printed in one line.
 * @returns the exit status
 */
export async function runOperatorCommand(
  command: OperatorCommand,
  args: string[],
  { environment, ...given }: Surroundings,
): Promise<number> {
  // Stored texts may be damaged, or contain sequences that deceive a terminal.
  const surroundings = {
    ...given,
    out: (line: string) => given.out(escapeUnsafe(line)),
    note: (line: string) => given.note(escapeUnsafe(line)),
  };
  const fail = (message: string, status: number) => {
    surroundings.note(`stoa ${command.name}: ${message.replace(/\s*\n\s*/g, " ")}`);
    return status;
  };
  if (asksForHelp(args)) {
    surroundings.out(command.help.trimEnd());
    return exitStatus.done;
  }
  let dataDir: string | undefined;
  try {
    const config = readConfig(environment);
    ({ dataDir } = config);
    for (const warning of config.warnings) surroundings.note(warning);
    return await command.run(args, { ...surroundings, config });
  } catch (error) {
    if (error instanceof UsageError)
      return fail(`${error.message}; see stoa ${command.name} --help`, exitStatus.unusable);
    if (error instanceof ConfigError) return fail(error.message, exitStatus.unusable);
    if (dataDir !== undefined && isDenied(error, dataDir)) {
      const remedy = "run the command as root or as the account of the service";
      return fail(`${dataDir} cannot be read by this account; ${remedy}`, exitStatus.failed);
    }
    return fail(explain(error), exitStatus.failed);
  }
}

/** Whether the file system denies this account something in a folder. */
function isDenied(error: unknown, folder: string): boolean {
  const { code, path } = error as NodeJS.ErrnoException;
  return (code === "EACCES" || code === "EPERM") && path !== undefined && !relative(folder, path).startsWith("..");
}

/** The message of an error, with the message of its cause if that adds something. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const fault = schemaFaultOf(error) ?? schemaFaultOf(cause);
  if (fault !== undefined) {
    return `${fault.message}. The database lacks a part of its schema; stoa fsck names all that is missing. ${restoreAdvice}`;
  }
  return cause instanceof Error && !error.message.includes(cause.message)
    ? `${error.message} (${cause.message})`
    : error.message;
}
