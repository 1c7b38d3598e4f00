import { rootAddress } from "../client/http.ts";
import { sha256Bytes } from "../client/sha256.ts";
import { findingOf, LogFinding } from "../client/signed-log/finding.ts";
import { checkProof, findProof } from "../client/signed-log/prove.ts";
import { SignedLog } from "../client/signed-log/signed-log.ts";
import { LogSource } from "../client/signed-log/source.ts";
import { fromUtf8, toUtf8 } from "../tlog/encoding.ts";
import { TlogError } from "../tlog/error.ts";
import { parseCheckpoint } from "../tlog/notes/checkpoint.ts";
import { parseVkey } from "../tlog/notes/key.ts";
import { parseNote } from "../tlog/notes/note.ts";
import { parseExtra } from "../tlog/proofs/extra.ts";
import { parseProof } from "../tlog/proofs/tlog-proof.ts";

/** What a browser remembers of a log. */
export interface RememberedLog {
  vkey: string;
  /** The signed note of the newest tree that it has seen. */
  checkpoint: string;
}

export interface CheckedEntry {
  /** What is to be remembered from now on. */
  memory: RememberedLog;
  /** How many entries the signed tree has. */
  size: number;
  /** The size of the remembered tree, which the log extends; undefined if none was remembered. */
  rememberedSize: number | undefined;
  /** The text that the entry commits to, if it is shown. */
  content: Record<string, unknown> | undefined;
}

/**
 * Checks the proof of an entry, and that the log extends the tree that was remembered.
 * @param shown the entry as the page shows it, and the key that the page names
 * @throws LogFinding for a log that does not verify; StoaError when the service cannot be read; the signal's reason
 */
export async function checkEntry(
  url: string,
  shown: { index: number; entry: string; vkey: string },
  remembered: RememberedLog | undefined,
  signal: AbortSignal,
): Promise<CheckedEntry> {
  const root = rootAddress(url);
  try {
    const known = remembered && (await readMemory(remembered));
    const vkey = known?.vkey ?? shown.vkey;
    const key = known?.key ?? (await parseVkey(vkey, sha256Bytes));
    const log = await SignedLog.open(new LogSource(`${root}/log`, signal), { key, tree: known?.tree }, signal);
    const path = `log/entries/${shown.index}`;
    const proof = log && (await findProof(root, path, false, signal));
    if (log === undefined || proof === undefined)
      throw new LogFinding("gone", "the service has no proof of this entry");
    if (parseExtra(parseProof(proof).extra).entry !== shown.entry) {
      throw new LogFinding("other_item", "the proof is of another entry than the one on this page");
    }
    const { content } = await checkProof(proof, { kind: "entry", index: shown.index }, log);
    return {
      memory: { vkey, checkpoint: fromUtf8(log.note) as string },
      size: log.checkpoint.size,
      rememberedSize: known?.tree.size,
      content: content as Record<string, unknown> | undefined,
    };
  } catch (error) {
    throw findingOf(error) ?? error;
  }
}

/** What is remembered of a log; undefined if it cannot be read, which says nothing of the log. */
async function readMemory({ vkey, checkpoint }: RememberedLog) {
  try {
    const tree = parseCheckpoint(parseNote(toUtf8(checkpoint)).text);
    return { vkey, key: await parseVkey(vkey, sha256Bytes), tree };
  } catch (error) {
    if (error instanceof TlogError) return undefined;
    throw error;
  }
}

export { LogFinding };
