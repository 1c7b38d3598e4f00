#!/usr/bin/env node
import { parseCommand, type VerifyArguments } from "./arguments.ts";
import { HumanOutput, JsonOutput } from "./output.ts";
import { defaultStateFile, StateError, StateFile } from "./state.ts";
import { UsageError } from "./usage.ts";
import { exitStatus, verify } from "./verify.ts";

const interrupted = new AbortController();

async function run(args: string[]): Promise<number> {
  const command = parseCommand(args);
  switch (command.command) {
    case "help":
      process.stdout.write(command.text);
      return 0;
    case "nothing":
      process.stderr.write(command.text);
      return exitStatus.unusableCommand;
    case "verify":
      return runVerify(command.options);
    case "moderate": {
      const { runModerate } = await import("./moderate/main.ts");
      return runModerate(command.args, process.env);
    }
  }
}

function runVerify(options: VerifyArguments): Promise<number> {
  const { url, json, follow } = options;
  const stop = () => interrupted.abort(new Error("interrupted"));
  if (follow) for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, stop);
  // The reader of the output has gone.
  process.stdout.on("error", stop);
  const state = new StateFile(options.state ?? defaultStateFile(url, process.env), url);
  const output = json ? new JsonOutput(process.stdout) : new HumanOutput(process.stdout, process.stderr);
  return verify(options, state, output, interrupted.signal);
}

/** Reports a failure. It must not look like a verdict: Node would exit with status 1. */
function fail(error: unknown): number {
  if (error instanceof UsageError || error instanceof StateError) {
    const hint = error instanceof UsageError ? "; see stoa verify --help" : "";
    process.stderr.write(`stoa: ${error.message}${hint}\n`);
    return exitStatus.unusableCommand;
  }
  process.stderr.write(
    `stoa: nothing is known of the chain: ${error instanceof Error ? error.stack : String(error)}\n`,
  );
  return exitStatus.notChecked;
}

process.on("uncaughtException", (error) => process.exit(fail(error)));
try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.exitCode = fail(error);
}
