/** A command for everybody or for operators. */
export interface Command<Context> {
  /** The whole text of `NAME --help`. */
  readonly help: string;
  /**
   * @param args the arguments after the name
   * @returns the exit status
   * @throws UsageError when the arguments are wrong; other errors when the command fails
   */
  run(args: string[], context: Context): Promise<number>;
}

/** The exit statuses of all commands. */
export const exitStatus = {
  /** The command is done, and what was checked is good. */
  done: 0,
  /** The command has found a problem: something does not verify, is inconsistent, or was refused. */
  found: 1,
  /** The arguments, the settings or a file of the user's cannot be used. */
  unusable: 2,
  /** The command could not be done. What was to be checked is not known to be wrong. */
  failed: 3,
} as const;

/** Whether the arguments of a command ask for its help. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes("--help") || args.includes("-h");
}
