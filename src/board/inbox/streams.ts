import { notFound } from "../../errors.ts";
import type { Database } from "../../store/database/database.ts";
import { type InboxItemRow, listItemsFrom, readNewestItems } from "../../store/tables/inbox-items.ts";
import { GrowthWatch } from "../../timing/growth-watch.ts";
import type { Board, Queryable } from "../board.ts";
import { bringNews } from "./news.ts";
import { type NewsLog, NewsOfStreams } from "./news-of-streams.ts";

/** How many items a stream has in memory: few, because thousands of clients may stop reading at the same time. */
const portion = 16;

export interface InboxQuery {
  /** The first id, at most one beyond the newest; undefined for new items only. */
  from: number | undefined;
  follow: boolean;
}

/** Streams of inboxes. All of them share one look at the newest items. */
export class InboxStreams {
  readonly #db: Database;
  readonly #board: Board;
  readonly #watch: GrowthWatch<number>;

  /** @param stopping aborts when the service stops; those who wait for items then get its reason */
  constructor(db: Database, board: Board, stopping: AbortSignal, log: NewsLog) {
    this.#db = db;
    this.#board = board;
    const reader = db.longReader(stopping);
    const news = new NewsOfStreams(board, reader, { stopping, log });
    this.#watch = new GrowthWatch((agentIds) => {
      // Other items do not wait for news.
      news.begin(agentIds);
      return readNewestItems(reader, agentIds);
    });
    board.onNotified = (agentId) => this.#watch.notify(agentId);
  }

  /**
   * Streams the items of an inbox in the order of their ids, each once, and follows it if the query says so. Ids follow the
   * order of commits, so no item comes below one that was sent.
   * @returns the items in small portions
   * @throws StoaError `not_found` when `from` is further than one beyond the newest; the signal's reason
   */
  async *stream(signal: AbortSignal, agentId: number, query: InboxQuery): AsyncGenerator<InboxItemRow[], void> {
    await bringNews(this.#board, signal, agentId);
    yield* streamItems(this.#db.longReader(signal), this.#watch, agentId, query, signal);
  }
}

async function* streamItems(
  db: Queryable,
  watch: GrowthWatch<number>,
  agentId: number,
  { from, follow }: InboxQuery,
  signal: AbortSignal,
): AsyncGenerator<InboxItemRow[], void> {
  let newest = (await readNewestItems(db, [agentId])).get(agentId) ?? 0;
  if (from !== undefined && from > newest + 1) throw notFound("There is no item with this id yet.", "from");
  for (let next = from ?? newest + 1; ; ) {
    // Backfill: the items up to the newest that is known. Some ids are gone.
    while (next <= newest) {
      const rows = await listItemsFrom(db, agentId, { from: next, to: newest, limit: portion });
      if (rows.length > 0) yield rows;
      next = (rows.length < portion ? newest : (rows.at(-1)?.id ?? newest)) + 1;
    }
    if (!follow) return;

    // Live: the items that any replica writes from now on.
    newest = await watch.beyond(agentId, newest, signal);
  }
}
