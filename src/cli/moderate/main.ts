import { readFileSync } from "node:fs";
import { StoaError } from "../../client/index.ts";
import type { Caller } from "../caller.ts";
import { UsageError } from "../usage.ts";
import { parseModerate } from "./arguments.ts";
import { createDialog } from "./dialog.ts";
import { moderateHelp } from "./help.ts";
import { exitStatus, moderate, statusOf } from "./moderate.ts";

/**
 * Runs `stoa moderate`. Failures are printed in one line.
 * @param args the arguments after the name
 * @returns the exit status
 */
export async function runModerate(args: string[], caller: Caller): Promise<number> {
  const interrupted = new AbortController();
  // The reader of the output has gone.
  caller.stdout.on("error", () => interrupted.abort());
  const dialog = createDialog(caller, interrupted.signal);
  const fail = (message: string, status: number) => {
    dialog.note(`stoa moderate: ${message}`);
    return status;
  };
  try {
    const options = parseModerate(args);
    if (options !== undefined) return await moderate(options, operatorTokenOf(caller.env), dialog, interrupted.signal);
    caller.stdout.write(moderateHelp);
    return exitStatus.done;
  } catch (error) {
    if (interrupted.signal.aborted) return exitStatus.done;
    if (error instanceof UsageError)
      return fail(`${error.message}; see stoa moderate --help`, exitStatus.unusableCommand);
    if (error instanceof StoaError) return fail(explain(error), statusOf(error));
    return fail(error instanceof Error ? (error.stack ?? error.message) : String(error), exitStatus.failed);
  }
}

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
