import type { Caller } from "../caller.ts";
import { interruptedBy } from "../interrupted.ts";
import { exitStatus } from "../outcome.ts";
import { parseProve, proveHelp } from "./arguments.ts";
import { proveOffline } from "./offline.ts";
import { ProveOutput } from "./output.ts";
import { prove } from "./prove.ts";

/** Runs `stoa prove` with the arguments after the name. @returns the exit status. @throws UsageError or StateError */
export async function runProve(args: string[], caller: Caller): Promise<number> {
  const options = await parseProve(args);
  if (options === undefined) {
    caller.stdout.write(proveHelp);
    return exitStatus.verified;
  }
  const output = new ProveOutput(caller.stdout, caller.stderr, options.json);
  const signal = interruptedBy(caller, []);
  if ("offline" in options) return proveOffline(options.offline, output, signal);
  return prove(options.online, output, caller.env, signal);
}
