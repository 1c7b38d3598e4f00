import type { Database } from "../../store/database/database.ts";
import { type Finding, leftOut, maxFindings, nextKey, type Outcome, type Range } from "../../store/recount/finding.ts";
import { isRepairable, repairRow } from "../../store/recount/tables.ts";
import { generatedColumns } from "../../store/schema/generated-columns.ts";
import { Board, type Queryable } from "../board.ts";
import { type Check, checks } from "./checks.ts";

export { describeFinding, type Outcome } from "../../store/recount/finding.ts";

/** How many keys of a table one statement checks. */
const maxKeys = 1_000;
const maxSafe = Number.MAX_SAFE_INTEGER;
/** Below every key. */
const beforeAll = -(2 ** 64);

/**
 * Recomputes every stored value that follows from other rows, and looks for rows whose parent is missing. It may run while
 * services write: their writes never cause a finding. Its memory is bounded. If the schema lacks something that a check
 * needs, that is a finding too.
 * @param db a reader whose statements may take long
 * @param repair the database in which wrong values are corrected; undefined changes nothing
 * @throws StoaError `unavailable`; the reason of `signal`
 */
export async function* recountBoard(
  db: Queryable,
  now: () => number,
  signal: AbortSignal,
  repair?: Database,
): AsyncGenerator<Outcome, void> {
  const repairs = repair && new Repairs(repair, now, signal);
  for (const check of checks) {
    try {
      for await (const finding of walk(db, check, now)) {
        yield { finding, repaired: (await repairs?.repair(check, finding)) ?? false };
      }
    } catch (error) {
      yield { finding: leftOut(check.table, error), repaired: false };
    }
  }
}

/** Checks a table in the order of its key. */
async function* walk(db: Queryable, check: Check, now: () => number): AsyncGenerator<Finding, void> {
  let first = await nextKey(db, check, beforeAll);
  while (first !== undefined) {
    const range = rangeFrom(first);
    yield* findIn(db, check, range, now);
    first = await nextKey(db, check, range.to);
  }
}

/** Keys beyond 2^53 are damage, and a Number cannot distinguish them. They are one range, and so are those below -2^53. */
function rangeFrom(first: number): Range {
  const to = first + maxKeys - 1;
  if (first < -maxSafe) return { after: beforeAll, to: -maxSafe };
  return to <= maxSafe ? { after: first - 1, to } : { after: Math.min(first - 1, maxSafe), to: 2 ** 63 };
}

/** For a single key, about `maxFindings` findings are reported. The next run finds the others. */
async function* findIn(db: Queryable, check: Check, range: Range, now: () => number): AsyncGenerator<Finding, void> {
  const found = await check.find(db, range, now());
  const keys = range.to - range.after;
  if (found.length <= maxFindings || keys === 1 || Math.max(-range.after, range.to) > maxSafe) {
    yield* found;
    return;
  }
  const middle = range.after + Math.floor(keys / 2);
  yield* findIn(db, check, { after: range.after, to: middle }, now);
  yield* findIn(db, check, { after: middle, to: range.to }, now);
}

class Repairs {
  readonly #db: Database;
  readonly #board: Board;
  readonly #now: () => number;
  readonly #signal: AbortSignal;
  /** The row that was repaired last: one transaction repairs all of a row's values. */
  #row: string | undefined;
  /** The generated columns that were defined again. */
  readonly #defined = new Set<string>();

  constructor(db: Database, now: () => number, signal: AbortSignal) {
    this.#db = db;
    this.#board = new Board(db, now);
    this.#now = now;
    this.#signal = signal;
  }

  /** @returns whether the finding is repaired */
  async repair(check: Check, finding: Finding): Promise<boolean> {
    const definition = (await generatedColumns()).get(finding.subject);
    if (definition !== undefined) return this.#define(finding.subject, definition);
    const { remove, mend } = check;
    if (mend !== undefined) return this.#board.write(this.#signal, (unit) => mend(unit, finding.key));
    if (remove !== undefined) return this.#board.write(this.#signal, ({ tx }) => remove(tx, finding.key));
    if (!isRepairable(check, finding)) return false;
    const id = Number(finding.key[check.key]);
    const row = `${check.table} ${id}`;
    if (row === this.#row) return true;
    await this.#board.write(this.#signal, ({ tx }) => repairRow(tx, check, id, this.#now()));
    this.#row = row;
    return true;
  }

  /** A generated column is wrong when its definition is wrong. It is defined again, once, which corrects all rows. */
  async #define(column: string, definition: string): Promise<boolean> {
    if (!this.#defined.has(column)) await this.#db.runDdl(this.#signal, definition);
    this.#defined.add(column);
    return true;
  }
}
