import { readFileSync } from "node:fs";
import { StoaError } from "../../client/index.ts";
import { type Caller, interruptedBy } from "../caller.ts";
import { type Command, exitStatus } from "../command.ts";
import { UsageError } from "../usage.ts";
import { parseModerate } from "./arguments.ts";
import { createDialog } from "./dialog.ts";
import { moderateHelp } from "./help.ts";
import { moderate, statusOf } from "./moderate.ts";

export const moderateCommand: Command<Caller> = {
  help: moderateHelp,
  async run(args, caller) {
    const interrupted = interruptedBy(caller, []);
    const options = parseModerate(args);
    const dialog = createDialog(caller, options.json, interrupted);
    try {
      return await moderate(options, operatorTokenOf(caller.env), dialog, interrupted);
    } catch (error) {
      if (interrupted.aborted) return exitStatus.done;
      if (!(error instanceof StoaError)) throw error;
      dialog.note(`stoa: ${explain(error)}`);
      return statusOf(error);
    }
  },
};

/** The token itself, or what the file holds that STOA_OPERATOR_TOKEN_FILE names. @throws UsageError */
function operatorTokenOf({ STOA_OPERATOR_TOKEN: token, STOA_OPERATOR_TOKEN_FILE: path }: NodeJS.ProcessEnv) {
  if (token || !path) return token;
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`STOA_OPERATOR_TOKEN_FILE names a file that cannot be read (${code})`);
  }
}

function explain({ code, message }: StoaError): string {
  // A service without an operator token does not have the operator's calls.
  return code === "unusable" ? `${message} Is this a Stoa that was started with STOA_OPERATOR_TOKEN?` : message;
}
