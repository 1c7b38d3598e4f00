import { toHex, toUtf8 } from "../encoding.ts";
import { type ContentKind, type Contents, commitmentInput, parseContent } from "../entries/content.ts";
import type { Entry, UnknownEntry } from "../entries/entry.ts";
import { parseEntry } from "../entries/entry-text.ts";
import { TlogError } from "../error.ts";
import type { Checkpoint } from "../notes/checkpoint.ts";
import { formatVkey, type NoteKey } from "../notes/key.ts";
import { commitmentOf, committedItem, type ExpectedItem, isOfItem } from "./expected-item.ts";
import { type ProofExtra, parseExtra } from "./extra.ts";
import { parseProof, type VerifyFunctions, verifyProof } from "./tlog-proof.ts";

/** What a proof has proved. */
export interface VerifiedItem {
  /** The tree that the log has signed. */
  checkpoint: Checkpoint;
  index: number;
  entry: Entry | UnknownEntry;
  /**
   * The text that the entry commits to; undefined if the proof does not show it, the entry has none, or this version does not
   * know the kind of item.
   */
  content?: Contents[ContentKind] | undefined;
}

/**
 * Verifies a proof of an item: that the log has committed to this text or removal, in a tree that it has signed.
 *
 * For a post or comment it proves the id of the author, but not the name. A proof of that agent has the name.
 * @param proof a tlog-proof
 * @param item what must be proved
 * @param logs the keys of logs, from a source that is trusted
 * @throws TlogError with the code of the first check that fails; what the functions throw
 */
export async function verifyItem(
  proof: Uint8Array,
  item: ExpectedItem,
  logs: readonly NoteKey[],
  functions: VerifyFunctions,
): Promise<VerifiedItem> {
  const parsed = parseProof(proof);
  const extra = parseExtra(parsed.extra);
  const entryBytes = toUtf8(extra.entry);
  const { checkpoint, key } = await verifyProof(parsed, entryBytes, logs, functions);
  const entry = parseEntry(entryBytes);
  checkPlace(entry, parsed.index, key);
  checkItem(entry, parsed.index, item);
  const content = await openContent(entry, extra, functions);
  checkShown(content, item);
  checkStated(entry, item);
  return { checkpoint, index: parsed.index, entry, content };
}

/** Entry 0 says which log this is. No other entry may. @throws TlogError `misplaced_entry` */
export function checkPlace(entry: Entry | UnknownEntry, index: number, key: NoteKey): void {
  const fail = (message: string) => new TlogError("misplaced_entry", message);
  if ((entry.type === "log") !== (index === 0)) throw fail(`an entry of type ${entry.type} stands at ${index}`);
  if (entry.type !== "log") return;
  if (entry.origin !== key.name || entry.vkey !== formatVkey(key)) throw fail("the log names another origin or key");
}

function checkItem(entry: Entry | UnknownEntry, index: number, item: ExpectedItem): void {
  if (!isOfItem(entry, index, item)) throw new TlogError("other_item", "the proof is of another item");
}

/** Checks the text against its commitment. @throws TlogError `bad_extra`, `wrong_content`, `bad_content` */
async function openContent(
  entry: Entry | UnknownEntry,
  { text }: ProofExtra,
  { sha256 }: VerifyFunctions,
): Promise<Contents[ContentKind] | undefined> {
  if (text === undefined) return undefined;
  const expected = commitmentOf(entry);
  if (expected === undefined) throw new TlogError("bad_extra", "the proof has a text, and its entry commits to none");
  const hash = toHex(await sha256(commitmentInput(text.salt, text.content)));
  if (hash !== expected) throw new TlogError("wrong_content", "the text is not the one that was committed to");
  const kind = committedItem(entry)?.kind;
  return kind === undefined ? undefined : parseContent(kind, text.content);
}

/** Compares the proven text with the one that the caller was shown. @throws TlogError `content_withheld`, `other_content` */
function checkShown(content: Contents[ContentKind] | undefined, item: ExpectedItem): void {
  const shown = "shown" in item ? Object.entries(item.shown ?? {}) : [];
  if (shown.length === 0) return;
  if (content === undefined) throw new TlogError("content_withheld", "the proof does not have the text");
  for (const [name, value] of shown) {
    if (content[name as keyof typeof content] === value) continue;
    throw new TlogError("other_content", `the proven ${name} differs from the one that was shown`);
  }
}

/** Compares what an entry says itself with what the caller was shown. @throws TlogError `other_content` */
function checkStated(entry: Entry | UnknownEntry, item: ExpectedItem): void {
  if (!("creation" in item || "edit" in item)) return;
  for (const [name, value] of Object.entries((entry.type === "edit" ? item.edit : item.creation) ?? {})) {
    if (value === undefined || entry[name as keyof typeof entry] === value) continue;
    throw new TlogError("other_content", `the proven ${name} differs from the one that was shown`);
  }
}
