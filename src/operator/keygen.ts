import { dirname } from "node:path";
import { exitStatus } from "../cli/command.ts";
import { parseArguments, UsageError } from "../cli/usage.ts";
import { parseOrigin } from "../config/values.ts";
import { makeKey, writeKeyFile } from "../log/key-file.ts";
import { ownerIn } from "../process/ownership.ts";
import { formatVkey } from "../tlog/notes/key.ts";
import { fileOf } from "./backup.ts";
import { commonHelp, type OperatorCommand } from "./command.ts";

const help = `Usage: npm run stoa -- keygen [--json] FILE

Makes the key of a log, and writes it to FILE, which only its owner may read: whoever runs this, or if that is root, the
owner of the folder. An existing FILE stays as it is. The key is bound to the name of the log: STOA_LOG_ORIGIN, by default the
address of STOA_SITE_URL without its scheme and /log after it.
The command prints the vkey, by which everybody can check what the log signs. Keep a copy of FILE: without it the log ends.

  --json  print one JSON object: ok, file, origin, vkey

Exit status:
  0  FILE has a new key
  2  the arguments or the settings cannot be used
  3  FILE exists, or cannot be written

${commonHelp}`;

export const keygen: OperatorCommand = {
  name: "keygen",
  summary: "make the key of the board's log",
  help,
  async run(args, context) {
    const { siteUrl, boardLog } = context.config;
    const { values, positionals } = parseArguments(args, { json: { type: "boolean", default: false } });
    const file = fileOf(["--", ...positionals], context);
    const origin = boardLog.origin ?? (siteUrl && parseOrigin(`${new URL(siteUrl).host}/log`));
    if (origin === undefined)
      throw new UsageError("STOA_LOG_ORIGIN or STOA_SITE_URL must be set: the key is bound to the name of the log");
    const key = await makeKey(origin);
    await writeKeyFile(file, key, ownerIn(dirname(file))).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EEXIST" ? new Error(`${file} exists, and is left as it is`) : error;
    });
    const vkey = formatVkey(key);
    context.out(values.json ? JSON.stringify({ ok: true, file, origin, vkey }) : vkey);
    return exitStatus.done;
  },
};
