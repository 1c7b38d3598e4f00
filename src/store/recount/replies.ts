import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import { isCount } from "../tables/one-row.ts";
import { encryptedResponseMs, hasLostTime, isDamagedReply, keyLifetimeMs } from "../tables/reply-check.ts";
import { compare, type Finding, leftOut, type Outcome } from "./finding.ts";

interface Row {
  id: Buffer;
  fingerprint: Buffer;
  reply: Buffer | null;
  sealed: number;
  created_at: number;
  due_at: number;
  reply_check: Buffer | null;
  item: string | null;
  item_id: number | null;
}

/** How many rows are read at once. A stored response may have some hundreds of kilobytes. */
const batch = 20;

/**
 * Checks the stored responses of idempotency keys. Only `due_at` can be repaired: it follows from the rest of the row.
 * @param repairIn the database in which `due_at` is corrected; without it nothing is changed
 */
export async function* checkReplies(
  db: Queryable,
  signal: AbortSignal,
  repairIn?: Database,
): AsyncGenerator<Outcome, void> {
  try {
    for (let after: Buffer = Buffer.alloc(0); ; ) {
      const rows = await db.rows<Row>(
        `SELECT id, fingerprint, reply, sealed, created_at, due_at, reply_check, item, item_id FROM idempotency_replies
         WHERE id > ? ORDER BY id LIMIT ${batch}`,
        [after],
      );
      for (const row of rows) {
        for (const finding of findWrong(row)) {
          const isRepaired = repairIn !== undefined && (await repair(repairIn, signal, row, finding));
          yield { finding, repaired: isRepaired };
        }
      }
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.id;
    }
  } catch (error) {
    yield { finding: leftOut("idempotency_replies", error), repaired: false };
  }
}

function findWrong(row: Row): Finding[] {
  const { created_at, due_at, sealed, reply, reply_check } = row;
  const key = { id: row.id.toString("hex") };
  if (isDamagedReply(row) || hasLostTime(created_at, reply_check)) {
    const problem = "the stored response is damaged; a repeat of its call is unavailable until the row is deleted";
    return [{ subject: "idempotency_replies", key, problem }];
  }
  if (!Number.isSafeInteger(created_at)) {
    return [{ subject: "idempotency_replies.created_at", key, problem: `stored ${created_at}, which is no time` }];
  }
  const isItem = row.item === null ? row.item_id === null : row.item === "post" || row.item === "comment";
  if (!isItem || (row.item !== null && !isCount(row.item_id))) {
    return [{ subject: "idempotency_replies.item", key, problem: "it names no post or comment" }];
  }
  const isErasedEarly = sealed === 1 && reply !== null;
  const right = created_at + (isErasedEarly ? encryptedResponseMs : keyLifetimeMs);
  return compare("idempotency_replies.due_at", key, due_at, right);
}

/** Corrects `due_at`, unless the row has changed since it was read. @returns whether the finding can be repaired */
async function repair(db: Database, signal: AbortSignal, row: Row, { wrong }: Finding): Promise<boolean> {
  if (wrong === undefined) return false;
  await db.transaction(signal, (tx) =>
    tx.run("UPDATE idempotency_replies SET due_at = ? WHERE id = ? AND created_at = ? AND due_at = ?", [
      wrong.counted,
      row.id,
      row.created_at,
      row.due_at,
    ]),
  );
  return true;
}
