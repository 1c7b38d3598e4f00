import type { Finding, Outcome } from "../store/recount/finding.ts";
import { isRepairable, repairRow, tableChecks } from "../store/recount/tables.ts";
import type { Board, Queryable } from "./board.ts";
import { RecountWalk } from "./recount-walk.ts";

export { describeFinding, type Finding, type Outcome } from "../store/recount/finding.ts";

/**
 * Counts anew whatever the board stores beside the rows that it follows from, and looks for rows whose parent is missing.
 * It may run beside any number of services: a finding is never due to their writes. Memory is bounded.
 * @param db a reader whose statements may take long
 * @param repair the board in which to set wrong values; undefined changes nothing
 * @throws StoaError `unavailable`; the reason of `signal`
 */
export async function* recountBoard(
  db: Queryable,
  now: () => number,
  signal: AbortSignal,
  repair?: Board,
): AsyncGenerator<Outcome, void> {
  for (const check of tableChecks) {
    const walk = new RecountWalk(check);
    for (;;) {
      const found = await walk.next(db, now());
      if (found === undefined) break;
      /** The row that was repaired last: one transaction repairs all of a row's values. */
      let repairedId: Finding["key"][string] | undefined;
      for (const finding of found) {
        const isFixable = repair !== undefined && isRepairable(check, finding);
        const id = finding.key[check.key];
        if (isFixable && id !== repairedId) {
          await repair.write(signal, ({ tx }) => repairRow(tx, check, Number(id), now()));
          repairedId = id;
        }
        yield { finding, repaired: isFixable };
      }
    }
  }
}
