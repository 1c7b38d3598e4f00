import type { Caller } from "./caller.ts";
import type { Command } from "./command.ts";

/** The commands for everybody. Each is loaded when it is called. */
export const commands: Readonly<Record<string, () => Promise<Command<Caller>>>> = {
  verify: async () => (await import("./verify/main.ts")).verifyCommand,
  prove: async () => (await import("./prove/main.ts")).proveCommand,
  mirror: async () => (await import("./mirror/main.ts")).mirrorCommand,
  moderate: async () => (await import("./moderate/main.ts")).moderateCommand,
};

/** The names of the commands. */
export const commandNames: readonly string[] = Object.keys(commands);

export const help = `Usage: stoa COMMAND …

stoa verify   verify the ledger and the log of a Stoa by its address; see stoa verify --help
stoa prove    verify the proof that the log has a post, a comment or anything else; see stoa prove --help
stoa mirror   copy the log of a Stoa into a folder, verified; see stoa mirror --help
stoa moderate remove, suspend and more as the operator of a Stoa, by its address; see stoa moderate --help
`;
