import type { Command } from "../cli/command.ts";
import type { Config } from "../config/config.ts";

/** What a command gets besides its arguments. */
export interface OperatorContext {
  /** The settings of the service. */
  readonly config: Config;
  /** The user's current folder: relative paths start here. */
  readonly folder: string;
  /** Aborts on SIGINT and SIGTERM. The command then undoes unfinished work and ends. */
  readonly signal: AbortSignal;
  /** Prints a line of the result, to standard output. */
  out(line: string): void;
  /** Prints a line about the progress, to standard error. */
  note(line: string): void;
}

/** A command that an operator runs as `npm run stoa -- NAME …`. Its failures are Errors with one line. */
export interface OperatorCommand extends Command<OperatorContext> {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
}

/** The lines that every help text ends with. */
export const commonHelp = `The command uses the settings of the service (STOA_DATABASE_URL, STOA_DATA_DIR, …).
`;
