import type { NoteKey } from "../../tlog/notes/key.ts";
import { parseLogKey } from "../log-key.ts";
import { parseArguments, parseUrl, UsageError } from "../usage.ts";

export interface MirrorArguments {
  /** The root address of a Stoa, or the address of a log. Without a slash at the end. */
  url: string;
  folder: string;
  key: NoteKey | undefined;
  json: boolean;
}

export const mirrorHelp = `Usage: stoa mirror [options] URL DIR

Copies the log of the Stoa at URL (its root address), or the log or mirror at URL, into the folder DIR. It reads only what
is new, recomputes the root of the tree, and checks that the log extends the one in DIR. DIR then has the files of the
log: any web server can serve it as a mirror. The checkpoint comes last; readers always find what it needs. After an
interruption, call it again: it goes on.

Options:
  --log-key VKEY  the key of the log. By default it is the one in DIR, and for a new DIR the one that the log names
  --json          print one JSON object: ok, url, dir, origin, vkey, from, to, root, reason, duration_ms. DIR had the
                  entries below \`from\`, and now has those below \`to\`. ok is null when the log could not be read
  -h, --help      print this

Exit status:
  0  DIR has the newest tree of the log
  1  the log does not verify, or does not extend the one in DIR. DIR stays as it was
  2  the command is wrong, or DIR cannot be used
  3  the log could not be reached, or there is no log
`;

/** @throws UsageError */
export async function parseMirror(args: string[]): Promise<MirrorArguments> {
  const { values, positionals } = parseArguments(args, {
    "log-key": { type: "string" },
    json: { type: "boolean", default: false },
  });
  const [address, folder, ...more] = positionals;
  const url = parseUrl(address);
  if (folder === undefined || folder === "") throw new UsageError("the folder is missing");
  if (more.length > 0) throw new UsageError("there is more than a URL and a folder");
  return { url, folder, key: await parseLogKey(values["log-key"]), json: values.json };
}
