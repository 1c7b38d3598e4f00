import type { Writable } from "node:stream";
import type { Caller } from "./caller.ts";
import { asksForHelp, exitStatus } from "./command.ts";
import { commandNames, commands, help } from "./commands.ts";
import { StateError } from "./state.ts";
import { escapeUnsafe } from "./terminal-text.ts";
import { UsageError } from "./usage.ts";

/** Runs a command for everybody. @returns the exit status */
export async function runCommand([name, ...args]: string[], caller: Caller): Promise<number> {
  if (name === undefined) {
    caller.stderr.write(help);
    return exitStatus.unusable;
  }
  if (["--help", "-h", "help"].includes(name)) {
    caller.stdout.write(help);
    return exitStatus.done;
  }
  try {
    const command = commandNames.includes(name) ? await commands[name]?.() : undefined;
    if (command === undefined) {
      throw new UsageError(`there is no command ${JSON.stringify(name)}; the commands are ${commandNames.join(", ")}`);
    }
    if (!asksForHelp(args)) return await command.run(args, caller);
    caller.stdout.write(command.help);
    return exitStatus.done;
  } catch (error) {
    return fail(error, caller.stderr, name);
  }
}

/** Reports a failure. @returns the exit status. It is never 1, which Node would choose, because 1 is a verdict */
export function fail(error: unknown, stderr: Writable, command = "verify"): number {
  if (error instanceof UsageError || error instanceof StateError) {
    const known = commandNames.includes(command) ? command : "verify";
    const hint = error instanceof UsageError ? `; see stoa ${known} --help` : "";
    stderr.write(escapeUnsafe(`stoa: ${error.message}${hint}\n`));
    return exitStatus.unusable;
  }
  const text = error instanceof Error ? error.stack : String(error);
  stderr.write(escapeUnsafe(`stoa: nothing is known: ${text}\n`));
  return exitStatus.failed;
}
