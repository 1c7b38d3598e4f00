import type { Caller } from "../caller.ts";
import { interruptedBy } from "../interrupted.ts";
import { exitStatus } from "../outcome.ts";
import { mirrorHelp, parseMirror } from "./arguments.ts";
import { mirror } from "./mirror.ts";
import { MirrorOutput } from "./output.ts";

/** Runs `stoa mirror` with the arguments after the name. @returns the exit status. @throws UsageError or StateError */
export async function runMirror(args: string[], caller: Caller): Promise<number> {
  const options = await parseMirror(args);
  if (options !== undefined) {
    const output = new MirrorOutput(caller.stdout, caller.stderr, options.json);
    return mirror(options, output, interruptedBy(caller, ["SIGINT", "SIGTERM"]));
  }
  caller.stdout.write(mirrorHelp);
  return exitStatus.verified;
}
