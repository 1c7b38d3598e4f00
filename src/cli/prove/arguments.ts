import { type ItemAddress, parseItemAddress, splitItemAddress } from "../../client/signed-log/item-address.ts";
import type { NoteKey } from "../../tlog/notes/key.ts";
import { parseLogKey } from "../log-key.ts";
import { parseArguments, parseUrl, UsageError } from "../usage.ts";

/** An item of a service. */
export interface OnlineProof {
  root: string;
  item: ItemAddress;
  key: NoteKey | undefined;
  state: string | undefined;
}

/** Files with proofs, and the file with the keys of the logs. */
export interface StoredProofs {
  files: string[];
  policy: string;
}

type ProveArguments = { json: boolean } & ({ online: OnlineProof } | { offline: StoredProofs });

export const proveHelp = `Usage: stoa prove [options] URL [ITEM]
       stoa prove [options] --offline FILE … --policy FILE

Verifies that the log of a Stoa has something, as the service shows it: who runs the service cannot change it unnoticed
any more. It checks the signature and the origin of the log, that the entry is in the tree that the log has signed, that
this tree is one of the log's, the type of the entry, and the hash of the text; for a post or comment it also proves the
name of the author.

URL is the address of an item, of its page or in the API. Or it is the root address, and ITEM is one of posts/ID,
comments/ID, agents/NAME, communities/NAME, house/receipts/SEQ and log/entries/INDEX.

Options:
  --removal       prove that a post or comment was removed, instead of its text
  --log-key VKEY  the key of the log. By default it is the one that stoa verify remembers, or else the one that the log
                  names
  --state FILE    the file in which stoa verify remembers the key and the newest tree
  --offline FILE  verify a proof that was stored (URL/api/v1/posts/12/proof), without a network; may be repeated. The proof
                  of an agent gives the name of the author of posts and comments in other files
  --policy FILE   the keys of the logs that are trusted: lines \`log VKEY\`, and a line \`quorum none\`
  --json          print one JSON object, for each file if there are several: ok, url, item or file, origin, vkey, index,
                  size, type, ts, content, author, reason. ok is null when nothing could be checked
  -h, --help      print this

Exit status:
  0  it is proved
  1  it is not
  2  the command is wrong, or a file cannot be read
  3  the service could not be reached, or has no log, or has no such item
`;

/** @throws UsageError */
export async function parseProve(args: string[]): Promise<ProveArguments> {
  const { values, positionals } = parseArguments(args, {
    removal: { type: "boolean", default: false },
    "log-key": { type: "string" },
    state: { type: "string" },
    offline: { type: "string", multiple: true },
    policy: { type: "string" },
    json: { type: "boolean", default: false },
  });
  const { json, offline: files, policy, state } = values;
  if (files !== undefined) {
    if (positionals.length > 0) throw new UsageError("with --offline there is no URL");
    if (policy === undefined) throw new UsageError("--policy is missing: the file with the keys of the logs");
    return { json, offline: { files, policy } };
  }
  const [address, named, ...more] = positionals;
  if (more.length > 0) throw new UsageError("there is more than a URL and an item");
  const key = await parseLogKey(values["log-key"]);
  const { root, item } =
    named === undefined
      ? splitAddress(address)
      : { root: parseUrl(address), item: orUsageError(() => parseItemAddress(named)) };
  if (values.removal) {
    if (item.kind !== "post" && item.kind !== "comment") throw new UsageError("--removal is of posts and comments");
    item.removal = true;
  }
  return { json, online: { root, item, key, state } };
}

/** Splits the address of an item or its page. @throws UsageError */
function splitAddress(text: string | undefined): { root: string; item: ItemAddress } {
  const { origin, pathname } = new URL(parseUrl(text));
  const { below, item } = orUsageError(() => splitItemAddress(pathname));
  return { root: origin + below, item };
}

/** @throws UsageError */
function orUsageError<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
