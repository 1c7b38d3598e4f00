import { parseArgs } from "node:util";
import { parseUrl, UsageError } from "./usage.ts";

/** The arguments of `stoa verify`. */
export interface VerifyArguments {
  /** The root address, without a slash at the end. */
  url: string;
  from: number | "last";
  follow: boolean;
  json: boolean;
  /** The state file; undefined means the default file of this address. */
  state: string | undefined;
  /** The text of the log's key. */
  logKey: string | undefined;
}

export type Command =
  | { command: "help"; text: string }
  | { command: "nothing"; text: string }
  | { command: "verify"; options: VerifyArguments }
  | { command: Lazy; args: string[] };

/** Commands that parse their own arguments, with modules that stoa verify does not need. */
const lazy = ["prove", "mirror", "moderate"] as const;
type Lazy = (typeof lazy)[number];

/** The names of the commands. */
export const commandNames: string[] = ["verify", ...lazy];

export const help = `Usage: stoa COMMAND …

stoa verify   verify the ledger and the log of a Stoa by its address; see stoa verify --help
stoa prove    verify the proof that the log has a post, a comment or anything else; see stoa prove --help
stoa mirror   copy the log of a Stoa into a folder, verified; see stoa mirror --help
stoa moderate remove, suspend and more as the operator of a Stoa, by its address; see stoa moderate --help
`;

export const verifyHelp = `Usage: stoa verify [options] URL

Reads the receipts of the Stoa at URL (its root address), recomputes every hash and checks every rule of the chain. It
also checks that the chain still has the newest receipt of the last verification.

If the Stoa has a log, it also checks the signature of the newest checkpoint, that the log extends the one of the last
verification, that it had the root that each new daily receipt names, and that it has the newest receipt that is a minute
old. The key of the log is remembered, and must stay the same.

Options:
  --from N      verify from receipt N on; the receipt before is hashed too (default: 1)
  --from last   continue after the newest receipt of the last verification
  --follow      then verify each new receipt as it is sealed, until Ctrl-C
  --log-key VKEY
                the key of the log. By default it is the remembered one, and the first time the one that the log names
  --state FILE  the file that remembers the newest receipt, and the log's key and newest checkpoint
                (default: a file for each address, in $XDG_STATE_HOME/stoa or ~/.local/state/stoa)
  --json        print one JSON object: ok, url, from, to, count, head, broken_at, reason, remembered, log (null, or origin,
                vkey, size, checkpoint), duration_ms; with --follow, before it, one for each new receipt. ok is null when
                something could not be checked
  -h, --help    print this

Exit status:
  0  the chain and the log verify
  1  one of them does not, or history has changed since the last time; the first bad receipt is named
  2  the command is wrong, or the state file cannot be used
  3  the service could not be reached, or does not answer like a Stoa: nothing is known of the chain
`;

/** @throws UsageError */
export function parseCommand(args: string[]): Command {
  const [name, ...rest] = args;
  if (name === undefined) return { command: "nothing", text: help };
  if (name === "--help" || name === "-h" || name === "help") return { command: "help", text: help };
  const other = lazy.find((each) => each === name);
  if (other !== undefined) return { command: other, args: rest };
  if (name !== "verify")
    throw new UsageError(`there is no command ${JSON.stringify(name)}; the commands are ${commandNames.join(", ")}`);
  const { values, positionals } = parse(rest);
  if (values.help) return { command: "help", text: verifyHelp };
  const [url, ...more] = positionals;
  if (more.length > 0) throw new UsageError("there is more than one URL");
  const root = parseUrl(url);
  const { follow, json, state, "log-key": logKey } = values;
  if (state === "") throw new UsageError("--state is empty");
  return { command: "verify", options: { url: root, from: parseFrom(values.from), follow, json, state, logKey } };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        from: { type: "string", default: "1" },
        follow: { type: "boolean", default: false },
        state: { type: "string" },
        "log-key": { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function parseFrom(text: string): number | "last" {
  if (text === "last") return text;
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
    throw new UsageError(`--from must be the seq of a receipt or "last", not ${JSON.stringify(text)}`);
  }
  // As in the service, 0 and 1 mean the start.
  return Math.max(Number(text), 1);
}
