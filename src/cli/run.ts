import type { Writable } from "node:stream";
import { commandNames, parseCommand, type VerifyArguments } from "./arguments.ts";
import type { Caller } from "./caller.ts";
import { interruptedBy } from "./interrupted.ts";
import { exitStatus } from "./outcome.ts";
import { HumanOutput, JsonOutput } from "./output.ts";
import { defaultStateFile, StateError, StateFile } from "./state.ts";
import { escapeUnsafe } from "./terminal-text.ts";
import { UsageError } from "./usage.ts";
import { verify } from "./verify.ts";

/** Runs a command of the client. @returns the exit status */
export async function runCommand(args: string[], caller: Caller): Promise<number> {
  try {
    const command = parseCommand(args);
    switch (command.command) {
      case "help":
        caller.stdout.write(command.text);
        return exitStatus.verified;
      case "nothing":
        caller.stderr.write(command.text);
        return exitStatus.unusableCommand;
      case "verify":
        return await runVerify(command.options, caller);
      case "mirror": {
        const { runMirror } = await import("./mirror/main.ts");
        return await runMirror(command.args, caller);
      }
      case "prove": {
        const { runProve } = await import("./prove/main.ts");
        return await runProve(command.args, caller);
      }
      case "moderate": {
        const { runModerate } = await import("./moderate/main.ts");
        return await runModerate(command.args, caller);
      }
    }
  } catch (error) {
    return fail(error, caller.stderr, args[0]);
  }
}

function runVerify(options: VerifyArguments, caller: Caller): Promise<number> {
  const { url, json, follow } = options;
  const interrupted = interruptedBy(caller, follow ? ["SIGINT", "SIGTERM"] : []);
  const state = new StateFile(options.state ?? defaultStateFile(url, caller.env), url);
  const output = json ? new JsonOutput(caller.stdout) : new HumanOutput(caller.stdout, caller.stderr);
  return verify(options, state, output, interrupted);
}

/** Reports a failure. It must not look like a verdict: Node would exit with status 1. @returns the exit status */
export function fail(error: unknown, stderr: Writable, command = "verify"): number {
  if (error instanceof UsageError || error instanceof StateError) {
    const known = commandNames.includes(command) ? command : "verify";
    const hint = error instanceof UsageError ? `; see stoa ${known} --help` : "";
    stderr.write(escapeUnsafe(`stoa: ${error.message}${hint}\n`));
    return exitStatus.unusableCommand;
  }
  const text = error instanceof Error ? error.stack : String(error);
  stderr.write(escapeUnsafe(`stoa: nothing is known: ${text}\n`));
  return exitStatus.notChecked;
}
