// Checks the approvals of receipts whose time is ahead of the clock. The approved time follows from the receipt.

import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { compare } from "../../store/recount/finding.ts";
import {
  type ClockApproval,
  deleteClockApproval,
  listClockApprovals,
  putClockApprovalTime,
} from "../../store/tables/clock-approvals.ts";
import { findReceipt } from "../../store/tables/receipts.ts";
import type { Repairable } from "./repairable.ts";

/**
 * Compares the approvals with the receipts that they name. An approval of a receipt that does not exist is removed: an
 * operator can give it again.
 */
export async function* findWrongApprovals(db: Queryable): AsyncGenerator<Repairable, void> {
  // A damaged seq may lie beyond the safe integers on either side.
  for (let after = -(2 ** 64); ; ) {
    const approvals = await listClockApprovals(db, after);
    for (const approval of approvals) yield* await checkApproval(db, approval);
    const last = approvals.at(-1)?.seq;
    if (last === undefined || last > Number.MAX_SAFE_INTEGER) return;
    after = Math.max(last, Number.MIN_SAFE_INTEGER);
  }
}

async function checkApproval(db: Queryable, { seq, ts }: ClockApproval): Promise<Repairable[]> {
  const key = { seq };
  const receipt = await findReceipt(db, seq);
  if (receipt === undefined) {
    const finding = { subject: "ledger_clock_words", key, problem: `there is no receipt ${seq}` };
    return [{ finding, repair: (tx) => deleteClockApproval(tx, seq) }];
  }
  const right = timeOf(receipt.canonical);
  if (right === undefined) return [];
  const repair = (tx: Tx) => putClockApprovalTime(tx, { seq, ts: right });
  return compare("ledger_clock_words.ts", key, ts, right).map((finding) => ({ finding, repair }));
}

/** The time of a receipt in milliseconds since 1970 (UTC); undefined if it is damaged, which is a separate finding. */
function timeOf(canonical: Buffer): number | undefined {
  try {
    const ts = Date.parse(JSON.parse(canonical.toString("utf8")).ts);
    return Number.isNaN(ts) ? undefined : ts;
  } catch {
    return undefined;
  }
}
