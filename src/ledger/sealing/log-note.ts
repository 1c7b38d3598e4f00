import { StoaError, StoredDamage } from "../../errors.ts";
import type { Tx } from "../../store/database/queryable.ts";
import { readLogHead } from "../../store/tables/log-head.ts";
import { toHex, toUtf8 } from "../../tlog/encoding.ts";
import { TlogError } from "../../tlog/error.ts";
import { parseCheckpoint } from "../../tlog/notes/checkpoint.ts";
import { parseNote } from "../../tlog/notes/note.ts";

/**
 * The tree that the log of the board has published, as the evidence of a daily receipt: each receipt is an entry of the log,
 * and each day names a tree. So neither can be replaced without the other.
 * @returns the newest note's tree; undefined while the log has none
 * @throws StoaError `unavailable` where the log was lost with a restore: each day names it once it was published. StoredDamage
 * where the note is damaged
 */
export async function publishedLog(tx: Tx): Promise<{ origin: string; root: string; size: number } | undefined> {
  const { note, restored } = await readLogHead(tx);
  if (note === null && restored === 0) return undefined;
  if (note === null) {
    throw new StoaError(
      "unavailable",
      "No day is sealed while the log may be lost with a restore. Run: npm run stoa -- recover --log",
    );
  }
  try {
    const { origin, root, size } = parseCheckpoint(parseNote(toUtf8(note)).text);
    return { origin, root: toHex(root), size };
  } catch (error) {
    if (!(error instanceof TlogError)) throw error;
    throw new StoredDamage("The note in log_head is damaged; restore it from a backup.", error);
  }
}
