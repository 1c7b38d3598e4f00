import { listStale, nextSearched, putSearchRound, type Searched } from "../../store/tables/search-index.ts";
import { sleep } from "../../timing/wait.ts";
import type { Board } from "../board.ts";
import { repairInSearch } from "./index-items.ts";

/** The pace of the indexer. */
export interface IndexerPace {
  /** How long it waits after the start of the service, in milliseconds, before it looks at more than communities. */
  delayMs: number;
  /** The share of time in which the database looks for items, and in which it indexes those that were found. */
  share: { looking: number; indexing: number };
  /** The minimum time between the starts of two rounds, and how long it waits after a failure, in milliseconds. */
  roundMs: number;
  failureMs: number;
}

export const defaultIndexerPace: IndexerPace = {
  delayMs: 20_000,
  share: { looking: 0.05, indexing: 0.5 },
  roundMs: 600_000,
  failureMs: 10_000,
};

export interface IndexerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const types: readonly Searched[] = ["communities", "agents", "posts", "comments"];
/** How many ids it looks at in one statement. */
const portion = 1_000;
/** How many items one transaction indexes. It locks each of them. */
const batch = 20;

/**
 * Makes the rows of search agree with the items, round after round. Items from before the migration or of a restored backup
 * have no tokens. Every replica does this, which is harmless: each checks an item again when it has locked it.
 */
export class SearchIndexer {
  readonly #board: Board;
  readonly #log: IndexerLog;
  readonly #pace: IndexerPace;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  /** How many items this round has indexed. */
  #indexed = 0;
  #rounds = 0;
  /** Whether it goes through all items. */
  #hasBegun = false;

  constructor(board: Board, log: IndexerLog, pace: IndexerPace = defaultIndexerPace) {
    this.#board = board;
    this.#log = log;
    this.#pace = pace;
    this.#ended = this.#run().catch((err) => {
      if (!this.#stopping.signal.aborted) log.error({ err }, "the indexer of search has ended");
    });
  }

  /** The warning for the operator; undefined if search finds everything, as far as is known. */
  get warning(): string | undefined {
    if (!this.#hasBegun || this.#rounds > 0 || this.#indexed === 0) return undefined;
    return "Search does not find everything yet: items that were written without it are being indexed.";
  }

  /** How many rounds through all items are finished. */
  get rounds(): number {
    return this.#rounds;
  }

  /** Stops the indexer. Resolves when its last statement has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the service is stopping"));
    await this.#ended;
  }

  async #run(): Promise<void> {
    // A new board has one community, which a migration has made.
    await this.#walk("communities");
    await this.#pause(this.#pace.delayMs);
    this.#hasBegun = true;
    for (;;) {
      const endsAt = performance.now() + this.#pace.roundMs;
      const beganAt = this.#board.now();
      for (const type of types) await this.#walk(type);
      await this.#noteRound(beganAt);
      if (this.#indexed > 0) this.#log.info({ items: this.#indexed }, "search has indexed items");
      this.#indexed = 0;
      this.#rounds += 1;
      await this.#pause(Math.max(endsAt - performance.now(), 0));
    }
  }

  /** The recount looks at what is older than the last round. */
  async #noteRound(beganAt: number): Promise<void> {
    try {
      await this.#board.write(this.#stopping.signal, ({ tx }) => putSearchRound(tx, beganAt));
    } catch (err) {
      this.#stopping.signal.throwIfAborted();
      this.#log.warn({ err }, "the end of a round of the indexer could not be stored");
    }
  }

  async #walk(type: Searched): Promise<void> {
    let after: number | undefined = Number.MIN_SAFE_INTEGER;
    while (after !== undefined) after = await this.#step(type, after);
  }

  /** Goes through the next portion. After a failure it goes through the same again. @returns where the next one begins */
  async #step(type: Searched, after: number): Promise<number | undefined> {
    try {
      return await this.#portion(type, after);
    } catch (err) {
      this.#stopping.signal.throwIfAborted();
      this.#log.warn({ err, table: type }, "indexing for search failed");
      await this.#pause(this.#pace.failureMs);
      return after;
    }
  }

  async #portion(type: Searched, after: number): Promise<number | undefined> {
    const db = this.#board.read(this.#stopping.signal);
    const begun = performance.now();
    const first = await nextSearched(db, type, after);
    if (first === undefined) return undefined;
    const to = first + portion - 1;
    const stale = (await listStale(db, type, first - 1, to, batch)).slice(0, batch);
    if (stale.length === 0) {
      await this.#rest(begun, this.#pace.share.looking);
      return to;
    }
    this.#indexed += await this.#index(type, stale);
    await this.#rest(begun, this.#pace.share.indexing);
    return stale.length < batch ? to : stale.at(-1);
  }

  /** @returns how many items were indexed */
  #index(type: Searched, ids: readonly number[]): Promise<number> {
    return this.#board.write(this.#stopping.signal, async ({ tx }) => {
      let indexed = 0;
      for (const id of ids) if (await repairInSearch(tx, type, id)) indexed++;
      return indexed;
    });
  }

  /** Pauses for so long that the work since `begun` is this share of the time. */
  #rest(begun: number, share: number): Promise<void> {
    return this.#pause((performance.now() - begun) * (1 / share - 1));
  }

  #pause(ms: number): Promise<void> {
    return sleep(ms, this.#stopping.signal);
  }
}
