// An operator's word about the clock names a receipt and its time; that time follows from the receipt.

import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { compare } from "../../store/recount/finding.ts";
import {
  type ClockApproval,
  deleteClockApproval,
  listClockApprovals,
  putClockApprovalTime,
} from "../../store/tables/clock-approvals.ts";
import { findReceipt } from "../../store/tables/receipts.ts";
import type { WrongNote } from "./note-check.ts";

/**
 * Compares the words with the receipts that they name. A word about a receipt that is not there allows a time that nobody
 * has seen: it is one too many, and can be given again.
 */
export async function* findWrongApprovals(db: Queryable): AsyncGenerator<WrongNote, void> {
  for (let after = 0; ; ) {
    const words = await listClockApprovals(db, after);
    if (words.length === 0) return;
    for (const word of words) yield* await checkWord(db, word);
    after = words.at(-1)?.seq ?? after;
  }
}

async function checkWord(db: Queryable, { seq, ts }: ClockApproval): Promise<WrongNote[]> {
  const key = { seq };
  const receipt = await findReceipt(db, seq);
  if (receipt === undefined) {
    const finding = { subject: "ledger_clock_words", key, problem: `there is no receipt ${seq}` };
    return [{ finding, mend: (tx) => deleteClockApproval(tx, seq) }];
  }
  const right = timeOf(receipt.canonical);
  if (right === undefined) return [];
  const mend = (tx: Tx) => putClockApprovalTime(tx, { seq, ts: right });
  return compare("ledger_clock_words.ts", key, ts, right).map((finding) => ({ finding, mend }));
}

/** The time of a receipt in milliseconds since 1970 (UTC); undefined where it is damaged, which is a finding by itself. */
function timeOf(canonical: Buffer): number | undefined {
  try {
    const ts = Date.parse(JSON.parse(canonical.toString("utf8")).ts);
    return Number.isNaN(ts) ? undefined : ts;
  } catch {
    return undefined;
  }
}
