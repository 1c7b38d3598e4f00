import { type Caller, interruptedBy } from "../caller.ts";
import type { Command } from "../command.ts";
import { Output } from "../output.ts";
import { mirrorHelp, parseMirror } from "./arguments.ts";
import { mirror } from "./mirror.ts";

export const mirrorCommand: Command<Caller> = {
  help: mirrorHelp,
  async run(args, caller) {
    const options = await parseMirror(args);
    return mirror(options, new Output(caller, options.json, "entries"), interruptedBy(caller, ["SIGINT", "SIGTERM"]));
  },
};
