import { type Finding, maxFindings, nextKey, type TableCheck } from "../../store/recount/finding.ts";
import type { Queryable } from "../board.ts";

/** How long the statement of a portion should take, in milliseconds. */
const targetMs = 50;
const firstSize = 256;
const maxSize = 8_192;
/**
 * Slow statements do not make portions smaller than this: on a busy machine they are slow whatever the number of rows, and
 * many small portions would take longer in all. Only failures and too many findings make smaller portions.
 */
const minSize = 256;

/**
 * Checks a table in portions, in the order of its key. The size of portions adapts to the time that they take: a post may
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
   * Checks the next portion; undefined at the end of the table. If a portion fails, the next call tries it with fewer rows.
   * A single row that fails is skipped, since counting it may take longer than the statement timeout.
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
