import type { Config } from "../config/config.ts";

/** The environment of a command, besides its arguments. */
export interface OperatorContext {
  /** The settings of the service, which the commands share. */
  readonly config: Config;
  /** The user's folder: relative paths begin here. */
  readonly folder: string;
  /** Aborts on SIGINT and SIGTERM. The command then undoes unfinished work and ends. */
  readonly signal: AbortSignal;
  /** Prints a line of the result, to standard output. */
  out(line: string): void;
  /** Prints a line about the progress, to standard error. */
  note(line: string): void;
}

/** A command that an operator runs as `npm run stoa -- NAME …`. */
export interface OperatorCommand {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The whole text of `NAME --help`. */
  readonly help: string;
  /**
   * @param args the arguments after the name
   * @returns the exit status
   * @throws UsageError when the arguments are wrong; Error with one line when the command fails
   */
  run(args: string[], context: OperatorContext): Promise<number>;
}

/** The exit statuses of all commands. */
export const exitStatus = {
  done: 0,
  /** The command was done, and has found a problem. */
  found: 1,
  /** The arguments or the settings cannot be used. */
  unusable: 2,
  /** The command could not be done. */
  failed: 3,
};

/** The lines that every help text ends with. */
export const commonHelp = `The command uses the settings of the service (STOA_DATABASE_URL, STOA_DATA_DIR, …).
`;
