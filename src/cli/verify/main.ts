import { type Caller, interruptedBy } from "../caller.ts";
import type { Command } from "../command.ts";
import { Output } from "../output.ts";
import { defaultStateFile, StateFile } from "../state.ts";
import { parseVerify, verifyHelp } from "./arguments.ts";
import { verify } from "./verify.ts";

export const verifyCommand: Command<Caller> = {
  help: verifyHelp,
  async run(args, caller) {
    const options = parseVerify(args);
    const { url, json, follow } = options;
    const interrupted = interruptedBy(caller, follow ? ["SIGINT", "SIGTERM"] : []);
    const state = new StateFile(options.state ?? defaultStateFile(url, caller.env), url);
    return verify(options, state, new Output(caller, json, "receipts"), interrupted);
  },
};
