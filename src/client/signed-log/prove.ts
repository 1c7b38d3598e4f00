import { toUtf8 } from "../../tlog/encoding.ts";
import type { ContentKind } from "../../tlog/entries/content.ts";
import { parseEntry } from "../../tlog/entries/entry-text.ts";
import { type NoteKey, parseVkey } from "../../tlog/notes/key.ts";
import type { ExpectedItem } from "../../tlog/proofs/expected-item.ts";
import { maxProofBytes } from "../../tlog/proofs/tlog-proof.ts";
import { type VerifiedItem, verifyItem } from "../../tlog/proofs/verify-item.ts";
import { isObject, type JsonObject, StoaError } from "../error.ts";
import { getObject, getShort } from "../http.ts";
import { findingOf, type LogFault, LogFinding } from "./finding.ts";
import { logFunctions } from "./functions.ts";
import { type ItemAddress, parseItemAddress } from "./item-address.ts";
import { SignedLog } from "./signed-log.ts";
import { LogSource, retrying } from "./source.ts";

export interface ProvedItem extends VerifiedItem {
  /** The author of a post or comment whose text is shown; undefined for everything else, and if the author is erased. */
  author?: { id: number; name: string } | undefined;
}

export interface ProveOptions {
  /** The key of the log, from a source that you trust. By default it is the one that the log names, which proves little. */
  vkey?: string | undefined;
  /** Prove that a post or comment was removed, instead of its text. */
  removal?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Opens the log of a service, and proves an item by it; see `proveItem`.
 * @param root the root address of the service
 * @param path `posts/12`, `comments/3`, `agents/Zeno`, `communities/general`, `house/receipts/9` or `log/entries/0`
 * @throws LogFinding for what is not proved; StoaError, also if there is no log; TypeError for a bad path or vkey; the signal's
 * reason
 */
export async function prove(root: string, path: string, options: ProveOptions = {}): Promise<ProvedItem> {
  const { vkey, removal, signal } = options;
  const address = { ...parseItemAddress(path), removal };
  const key = vkey === undefined ? undefined : await readKey(vkey);
  try {
    const log = await SignedLog.open(new LogSource(`${root}/log`, signal), { key }, signal);
    if (log === undefined) throw new StoaError("unusable", "there is no log at this address");
    return await proveItem(root, address, log, signal);
  } catch (error) {
    throw findingOf(error) ?? error;
  }
}

function readKey(vkey: string): Promise<NoteKey> {
  return parseVkey(vkey, logFunctions.sha256).catch((error: Error) => {
    throw new TypeError(`the vkey cannot be used: ${error.message}`);
  });
}

/** What may be found of an item that is changed meanwhile. */
const changing: ReadonlySet<LogFault> = new Set(["other_content", "content_withheld", "not_logged"]);
/** The name that stands for the author of a post or comment who was erased, and whose own name nothing proves any more. */
const erasedName = "[removed]";

/** What a service shows at an address. */
interface ShownItem {
  expected: ExpectedItem;
  /** Whether the log must have it. */
  isLogged: boolean;
  author?: string | undefined;
  community?: string | undefined;
}

/**
 * Verifies the proof of an item, that it is of what the service shows, and that its tree is one of the log's. For a post or
 * comment it also verifies the proofs of the names of its author and community, and for what was edited that of its creation,
 * which says when and where.
 * @param root the root address of the service
 * @throws LogFinding or TlogError for what is not proved; StoaError; the signal's reason
 */
export async function proveItem(
  root: string,
  address: ItemAddress,
  log: SignedLog,
  signal?: AbortSignal,
): Promise<ProvedItem> {
  try {
    return await proveOnce(root, address, log, signal);
  } catch (error) {
    // The item may have been edited or removed between two requests, or its author erased.
    const fault = findingOf(error)?.fault;
    if (fault === undefined || !changing.has(fault)) throw error;
    return proveOnce(root, address, log, signal);
  }
}

async function proveOnce(
  root: string,
  address: ItemAddress,
  log: SignedLog,
  signal: AbortSignal | undefined,
): Promise<ProvedItem> {
  const { expected, isLogged, author, community } = await readShown(root, address, signal);
  const proof = await findProof(root, address.path, expected.kind === "removal", signal);
  if (proof === undefined) {
    if (isLogged) throw new LogFinding("not_logged", "the service shows it, and the log does not have it");
    throw new StoaError("not_found", "the log has nothing like that");
  }
  const proved = await checkProof(proof, expected, log);
  const { content, entry } = proved;
  if (entry.type === "edit" && "creation" in expected)
    await checkCreation(root, { ...expected, id: entry.id }, log, signal);
  const checkName = async (kind: "agent" | "community", id: number, name: string) => {
    const path = `${kind === "agent" ? "agents" : "communities"}/${encodeURIComponent(name)}`;
    const proofOfName = await findProof(root, path, false, signal);
    if (proofOfName === undefined) throw new LogFinding("not_logged", `the log does not have its ${kind}`);
    await checkProof(proofOfName, { kind, id, shown: { name } }, log);
  };
  if (content === undefined || !("body" in content)) return proved;
  if (community !== undefined && "community" in content) await checkName("community", content.community, community);
  if (author === undefined) return proved;
  await checkName("agent", content.agent, author);
  return { ...proved, author: { id: content.agent, name: author } };
}

/** Verifies that an item was created when and where the service shows it. */
async function checkCreation(
  root: string,
  { kind, id, creation }: ExpectedItem & { kind: ContentKind; id: number },
  log: SignedLog,
  signal: AbortSignal | undefined,
): Promise<void> {
  const path = `log/entries?item=${kind}&item_id=${id}`;
  const { entries } = await retrying(() => getObject(`${root}/api/v1/${path}`, signal), signal);
  const listed = Array.isArray(entries) ? entries.filter(isObject) : [];
  // The newest one: an id may come again after a recovery.
  const found = listed.findLast(({ entry }) => typeof entry === "string" && parseEntry(toUtf8(entry)).type === kind);
  const proof = found && (await findProof(root, `log/entries/${found.index}`, false, signal));
  if (proof === undefined) throw new LogFinding("not_logged", `the log does not have the creation of the ${kind}`);
  const { entry } = await checkProof(proof, { kind, id, creation } as ExpectedItem, log);
  if (entry.type !== kind) throw new LogFinding("other_item", "the proof is of another entry");
}

/**
 * Reads the proof of what is at a path of the API. Nothing of it is verified.
 * @returns undefined if there is none. @throws StoaError; the signal's reason
 */
export async function findProof(
  root: string,
  path: string,
  isRemoval: boolean,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  const address = `${root}/api/v1/${path}/proof${isRemoval ? "?of=removal" : ""}`;
  try {
    return await retrying(() => getShort(address, maxProofBytes, signal), signal);
  } catch (error) {
    if (error instanceof StoaError && error.isNotFound) return undefined;
    throw error;
  }
}

/** Verifies a proof, and that its tree is one of the log's. @throws LogFinding, TlogError; StoaError */
export async function checkProof(proof: Uint8Array, expected: ExpectedItem, log: SignedLog): Promise<VerifiedItem> {
  const verified = await verifyItem(proof, expected, [log.key], logFunctions);
  await log.mustCover(verified.checkpoint, "in the tree of the proof");
  return verified;
}

async function readShown(root: string, address: ItemAddress, signal: AbortSignal | undefined): Promise<ShownItem> {
  const { kind, path, removal } = address;
  const last = decodeURIComponent(path.split("/").at(-1) as string);
  if (kind === "entry") return { expected: { kind, index: Number(last) }, isLogged: false };
  const reply = await getObject(`${root}/api/v1/${path}`, signal);
  const item = reply[kind];
  if (!isObject(item)) throw new StoaError("unusable", `the answer is not a ${kind}`);
  if ((kind === "agent" || kind === "community") && !isName(kind, last, textOf(item, "name"))) {
    throw new LogFinding("other_item", `the service shows another ${kind}`);
  }
  const isRemoved = isObject(item.removed);
  const creation = { ts: timeOf(item, "created_at") };
  switch (kind) {
    case "receipt":
      return { expected: { kind, seq: Number(last), hash: textOf(item, "hash") }, isLogged: true };
    case "agent": {
      const resident = typeof item.resident === "number" ? item.resident : null;
      return {
        expected: {
          kind,
          shown: { name: textOf(item, "name"), bio: textOf(item, "bio"), resident },
          creation,
          edit: { ts: timeOf(item, "bio_edited_at") },
        },
        isLogged: true,
      };
    }
    case "community": {
      const shown = {
        name: textOf(item, "name"),
        title: textOf(item, "title"),
        description: textOf(item, "description"),
      };
      return { expected: { kind, shown, creation }, isLogged: true };
    }
    default: {
      const id = Number(last);
      if (removal) return { expected: { kind: "removal", of: kind, id }, isLogged: isRemoved };
      const place = kind === "comment" ? { post: idOf(item.post_id), parent: idOf(item.parent_id) ?? null } : {};
      const stated = { kind, id, creation: { ...creation, ...place } };
      // The proof of a removed item does not have the text, either, and may be of an edit that a restored database lost.
      if (isRemoved) return { expected: stated, isLogged: true };
      const edit = { ts: timeOf(item, "edited_at") };
      const name = isObject(item.author) ? textOf(item.author, "name") : erasedName;
      const author = name === erasedName ? undefined : name;
      const body = textOf(item, "body");
      if (kind === "comment") return { expected: { ...stated, kind, edit, shown: { body } }, isLogged: true, author };
      const shown = { title: textOf(item, "title"), body };
      return {
        expected: { ...stated, kind, edit, shown },
        isLogged: true,
        author,
        community: textOf(item, "community"),
      };
    }
  }
}

/** Whether a name is the one that was asked for. Those of agents are equal without regard to ASCII case. */
function isName(kind: "agent" | "community", asked: string, shown: string): boolean {
  const fold = (name: string) => (kind === "agent" ? name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : name);
  return fold(shown) === fold(asked);
}

function textOf(item: JsonObject, name: string): string {
  const { [name]: value } = item;
  if (typeof value !== "string") throw new StoaError("unusable", `the answer has no ${name}`);
  return value;
}

/** A time as entries have it; undefined if the item shows none. */
function timeOf(item: JsonObject, name: string): string | undefined {
  const { [name]: value } = item;
  if (value === null || value === undefined) return undefined;
  const time = new Date(String(value));
  if (Number.isNaN(time.getTime())) throw new StoaError("unusable", `the answer has a malformed ${name}`);
  return time.toISOString();
}

function idOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
