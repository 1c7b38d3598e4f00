// Checkpoints by C2SP tlog-checkpoint v1.0.0: notes that say which tree a log has.
import { fromBase64, fromDecimal, toBase64 } from "../encoding.ts";
import { TlogError } from "../error.ts";
import { hashBytes } from "../tree/hashing.ts";
import type { Tree } from "../tree/proofs.ts";
import type { NoteKey } from "./key.ts";
import { parseNote, type VerifyEd25519, verifyNote } from "./note.ts";

export interface Checkpoint extends Tree {
  origin: string;
  /** Further lines, which mean nothing here. This log writes none. */
  extensions: string[];
}

/** The text that is signed. */
export function formatCheckpoint({ origin, size, root }: Omit<Checkpoint, "extensions">): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`;
}

/** @param text of a note. @throws TlogError `bad_checkpoint` */
export function parseCheckpoint(text: string): Checkpoint {
  const fail = (why: string) => new TlogError("bad_checkpoint", `the checkpoint is malformed: ${why}`);
  const lines = text.split("\n");
  if (lines.pop() !== "" || lines.includes("")) throw fail("it has an empty line, or its last line does not end");
  const [origin, decimal, base64, ...extensions] = lines;
  if (origin === undefined || decimal === undefined || base64 === undefined)
    throw fail("it has fewer than three lines");
  const size = fromDecimal(decimal);
  if (size === undefined) throw fail("the second line is not the size");
  const root = fromBase64(base64);
  if (root?.length !== hashBytes) throw fail("the third line is not the root");
  return { origin, size, root, extensions };
}

/**
 * Reads the checkpoint of one of several logs, and checks that the log has signed it.
 * @param keys of logs, from a source that is trusted
 * @returns the checkpoint, and the key that has signed it
 * @throws TlogError `bad_note`, `bad_checkpoint`, `other_origin`, `unsigned`, `bad_signature`
 */
export async function openCheckpoint(
  bytes: Uint8Array,
  keys: readonly NoteKey[],
  verify: VerifyEd25519,
): Promise<{ checkpoint: Checkpoint; key: NoteKey }> {
  const note = parseNote(bytes);
  const checkpoint = parseCheckpoint(note.text);
  const own = keys.filter(({ name }) => name === checkpoint.origin);
  if (own.length === 0) throw new TlogError("other_origin", "the checkpoint is of another log");
  return { checkpoint, key: await verifyNote(note, own, verify) };
}
