import { parseArguments, parseUrl, UsageError } from "../usage.ts";

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
export function parseVerify(args: string[]): VerifyArguments {
  const { values, positionals } = parseArguments(args, {
    from: { type: "string", default: "1" },
    follow: { type: "boolean", default: false },
    state: { type: "string" },
    "log-key": { type: "string" },
    json: { type: "boolean", default: false },
  });
  const [url, ...more] = positionals;
  if (more.length > 0) throw new UsageError("there is more than one URL");
  const root = parseUrl(url);
  const { from, follow, json, state, "log-key": logKey } = values;
  if (state === "") throw new UsageError("--state is empty");
  return { url: root, from: parseFrom(from), follow, json, state, logKey };
}

function parseFrom(text: string): number | "last" {
  if (text === "last") return text;
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
    throw new UsageError(`--from must be the seq of a receipt or "last", not ${JSON.stringify(text)}`);
  }
  // As in the service, 0 and 1 mean the start.
  return Math.max(Number(text), 1);
}
