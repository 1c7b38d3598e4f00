import { type Caller, interruptedBy } from "../caller.ts";
import type { Command } from "../command.ts";
import { Output } from "../output.ts";
import { parseProve, proveHelp } from "./arguments.ts";
import { proveOffline } from "./offline.ts";
import { prove } from "./prove.ts";

export const proveCommand: Command<Caller> = {
  help: proveHelp,
  async run(args, caller) {
    const options = await parseProve(args);
    const output = new Output(caller, options.json, "proofs");
    const signal = interruptedBy(caller, []);
    if ("offline" in options) return proveOffline(options.offline, output, signal);
    return prove(options.online, output, caller.env, signal);
  },
};
