import { type Finding, maxFindings, nextKey, type TableCheck } from "../store/recount/finding.ts";
import type { Queryable } from "./board.ts";

/** About how long the statement of a portion should take, in milliseconds. */
const targetMs = 50;
const firstSize = 64;
const maxSize = 8_192;

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
        this.#resize(1 / 8);
        return [];
      }
      this.#after = to;
      this.#adapt(performance.now() - begun);
      return found;
    } catch (error) {
      if (this.#size === 1) this.#after = to;
      this.#resize(1 / 8);
      throw error;
    }
  }

  #adapt(tookMs: number): void {
    if (tookMs < targetMs / 2) this.#resize(2);
    else if (tookMs > targetMs * 2) this.#resize(1 / 2);
  }

  #resize(factor: number): void {
    this.#size = Math.min(Math.max(Math.floor(this.#size * factor), 1), maxSize);
  }
}
