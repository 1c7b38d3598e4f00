// Checks the log folder of a replica. That may append to it meanwhile, so only what its checkpoint covers is read.
import { join } from "node:path";
import { StoredDamage } from "../../errors.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import type { Finding } from "../../store/recount/finding.ts";
import { readLogHead } from "../../store/tables/log-head.ts";
import type { LogIdentity } from "../../store/tables/log-identity.ts";
import { equalBytes, toUtf8 } from "../../tlog/encoding.ts";
import { TlogError } from "../../tlog/error.ts";
import { openCheckpoint } from "../../tlog/notes/checkpoint.ts";
import { type NoteKey, parseVkey } from "../../tlog/notes/key.ts";
import { parseNote } from "../../tlog/notes/note.ts";
import { TiledTree } from "../../tlog/tiles/tiled-tree.ts";
import type { Tree } from "../../tlog/tree/proofs.ts";
import { sha256, verifyEd25519 } from "../crypto.ts";
import { begunMark, readNote } from "../folder/log-folder.ts";
import { Segments, segmentEntries, segmentOf } from "../folder/segments.ts";
import { readTile } from "../publisher/extend.ts";

/**
 * Nothing is found where there is no folder, none that this account may read, or that of another board: fsck may run on another
 * machine.
 * @param note is told of a folder that is not checked
 */
export async function* checkFolder(
  path: string,
  db: Queryable,
  { vkey }: LogIdentity,
  signal: AbortSignal,
  note: (line: string) => void,
): AsyncGenerator<Finding, void> {
  const of = (problem: string) => ({ subject: "log_folder.checkpoint", key: {}, problem });
  const segments = new Segments(join(path, "entries"));
  let tree: Tree;
  try {
    const stored = await readNote(path);
    if (stored === undefined) {
      if (await segments.hasEntries()) yield of("it is missing or empty");
      return;
    }
    if (equalBytes(stored, begunMark)) return;
    const key = await parseVkey(vkey, sha256);
    if (isOfOther(stored, key)) {
      note(`${path} is the folder of another log, and is not checked`);
      return;
    }
    tree = (await openCheckpoint(stored, [key], verifyEd25519)).checkpoint;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const isMisnamed = code === "other_origin" || code === "unsigned";
    if (isMisnamed) yield of("a part of it names another log or key");
    else if (!["ENOTDIR", "EACCES"].includes(code)) yield of(message);
    return;
  }
  // Older files may have been deleted.
  const numbers = (await segments.names()).filter((name) => /^\d+$/.test(name)).map(Number);
  const newest = Number(segmentOf(tree.size - 1));
  for (let number = Math.min(newest, ...numbers); number <= newest; number++) {
    signal.throwIfAborted();
    const problem = await problemOf(segments, number * segmentEntries, tree);
    if (problem !== undefined) yield { subject: "log_folder.entries", key: { file: number }, problem };
  }
  const problem = await contradiction(db, tree);
  if (problem !== undefined) yield of(problem);
}

/** Whether a note is of another log. One of this log, of which one part is damaged, still names the key or is signed by it. */
function isOfOther(bytes: Uint8Array, { name, id, publicKey }: NoteKey): boolean {
  const { text, signatures } = parseNote(bytes);
  const isSignedBy = ({ signature }: { signature: Uint8Array }) => verifyEd25519(publicKey, toUtf8(text), signature);
  if (text.startsWith(`${name}\n`) && signatures.some(isSignedBy)) return false;
  return !signatures.some((own) => own.name === name && own.id === id);
}

/** Hashes the entries of a file onto the range before it, which must give that of the next file, or the root. */
async function problemOf(segments: Segments, first: number, { size, root }: Tree): Promise<string | undefined> {
  const segment = segmentOf(first);
  const end = Math.min(size, first + segmentEntries);
  try {
    const range = await segments.readRange(segment);
    if (range.size !== first) return "its range is of another file";
    for await (const entries of segments.read(segment, end - first)) range.appendAll(entries);
    if (range.size < end) return "it was cut off";
    if (end === size)
      return equalBytes(range.root(), root) ? undefined : "it does not lead to the root of the checkpoint";
    const next = await segments.readRange(segmentOf(end));
    return equalBytes(range.toBytes(), next.toBytes()) ? undefined : "it does not lead to the range of the next file";
  } catch (error) {
    return (error as Error).message;
  }
}

/** What the database's log has against a published tree. It is committed there before it is published. */
async function contradiction(db: Queryable, { size, root }: Tree): Promise<string | undefined> {
  const head = await readLogHead(db);
  if (head.size < size) return `it has ${size} entries, and the database has ${head.size}: see recover --log`;
  try {
    const tree = await TiledTree.open(head, (tile) => readTile(db, tile), sha256);
    return equalBytes(await tree.root(size), root) ? undefined : "the database's log does not begin with its tree";
  } catch (error) {
    // Damaged tiles are findings of their own.
    if (error instanceof TlogError || error instanceof StoredDamage) return undefined;
    throw error;
  }
}
