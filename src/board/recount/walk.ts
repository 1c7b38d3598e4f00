import { type Finding, maxFindings, nextKey, type TableCheck } from "../../store/recount/finding.ts";
import type { Queryable } from "../board.ts";

/** About how long the statement of a portion should take, in milliseconds. */
const targetMs = 50;
const firstSize = 256;
const maxSize = 8_192;
/**
 * A statement that is slow for other reasons than its rows, as on a busy machine, must not make portions of single rows:
 * that would take far longer in all. Only a portion that fails, or has too many findings, becomes smaller than this.
 */
const minSize = 256;

/**
 * Goes through a table in portions of its key, in ascending order. Portions adapt to the time that they take: a post may
 * have no votes, or a million.
 */
export class RecountWalk {
  readonly check: TableCheck;
  /** The keys up to here are checked. */
  #after = Number.MIN_SAFE_INTEGER;
  #size = firstSize;

  constructor(check: TableCheck) {
    this.check = check;
  }

  /**
   * Checks the next portion; undefined at the end of the table. A portion that fails is tried again by the next call with
   * fewer rows; a single row is passed over, since it may take longer to count than the time of a statement.
   * @param now milliseconds since 1970 (UTC)
   * @throws StoaError `unavailable` when the database cannot answer, or not in time
   */
  async next(db: Queryable, now: number): Promise<Finding[] | undefined> {
    const first = await nextKey(db, this.check, this.#after);
    if (first === undefined) return undefined;
    const begun = performance.now();
    const to = first + this.#size - 1;
    try {
      const found = await this.check.find(db, { after: first - 1, to }, now);
      if (found.length > maxFindings && this.#size > 1) {
        this.#size = Math.max(Math.floor(this.#size / 8), 1);
        return [];
      }
      this.#after = to;
      this.#adapt(performance.now() - begun);
      return found;
    } catch (error) {
      if (this.#size === 1) this.#after = to;
      this.#size = Math.max(Math.floor(this.#size / 8), 1);
      throw error;
    }
  }

  #adapt(tookMs: number): void {
    if (tookMs < targetMs / 2) this.#size = Math.min(this.#size * 2, maxSize);
    else if (tookMs > targetMs * 2 && this.#size > minSize) this.#size = Math.max(Math.floor(this.#size / 2), minSize);
  }
}
