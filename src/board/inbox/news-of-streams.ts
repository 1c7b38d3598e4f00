import { LRUCache } from "lru-cache";
import { StoaError } from "../../errors.ts";
import { type DueAgent, listDueAgents } from "../../store/tables/news.ts";
import type { Board, Queryable } from "../board.ts";
import { bringNews, isSettledBy, latestAt } from "./news.ts";

/** How often the subscriptions of an agent with streams are looked through, in milliseconds. */
const everyMs = 1_000;
/** How many agents one statement looks for, and for how many of them news are brought at a time. */
const agentsAtOnce = 128;
const broughtAtOnce = 8;
/** How many agents are remembered. One that is forgotten is looked at sooner. */
const maxRemembered = 20_000;

export interface NewsLog {
  error(fields: object, message: string): void;
}

/** Brings what is new into the inboxes of agents that follow their inboxes by streams. They share each look. */
export class NewsOfStreams {
  readonly #board: Board;
  readonly #db: Queryable;
  readonly #stopping: AbortSignal;
  readonly #log: NewsLog;
  /** When an agent was looked at, by `performance.now()`, and which news it has; undefined if that is unknown. */
  readonly #looks = new LRUCache<number, { at: number; mark: DueAgent["mark"] | undefined }>({ max: maxRemembered });
  #isLooking = false;

  /** @param db a reader of which each statement has its own deadline */
  constructor(board: Board, db: Queryable, { stopping, log }: { stopping: AbortSignal; log: NewsLog }) {
    this.#board = board;
    this.#db = db;
    this.#stopping = stopping;
    this.#log = log;
  }

  /**
   * Begins to bring what is new to those of these agents that were not looked at within the last second, unless a look still
   * runs. The board notifies of what comes.
   */
  begin(agentIds: readonly number[]): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#look(agentIds)
      .catch((err) => this.#report({ err }, "news of streams could not be looked for"))
      .finally(() => {
        this.#isLooking = false;
      });
  }

  async #look(agentIds: readonly number[]): Promise<void> {
    const at = performance.now();
    const asked = agentIds.filter((id) => at - (this.#looks.get(id)?.at ?? Number.NEGATIVE_INFINITY) >= everyMs);
    for (const id of asked) this.#looks.set(id, { at, mark: this.#looks.get(id)?.mark });
    for (let from = 0; from < asked.length; from += agentsAtOnce) {
      const some = asked.slice(from, from + agentsAtOnce);
      const latest = latestAt(this.#board.expiryNow());
      const due = new Map((await listDueAgents(this.#db, some, latest)).map((each) => [each.agent_id, each]));
      const changed = some.filter((id) => this.#isChanged(due.get(id)));
      const missed = new Set<number>();
      for (let next = 0; next < changed.length; next += broughtAtOnce) {
        const few = changed.slice(next, next + broughtAtOnce);
        await Promise.all(few.map(async (id) => (await this.#hasNews(id)) || missed.add(id)));
      }
      for (const id of some) this.#looks.set(id, { at, mark: missed.has(id) ? undefined : due.get(id)?.mark });
    }
  }

  /** Brings the news of an agent. One that fails must not hold up the others. @returns whether it has them now */
  async #hasNews(agentId: number): Promise<boolean> {
    try {
      return (await bringNews(this.#board, this.#stopping, agentId)) !== "unknown";
    } catch (err) {
      this.#report({ err, agent: agentId }, "news could not be brought into an inbox");
      return false;
    }
  }

  /** Logs a failure, unless the database does not answer, which others report, or the service stops. */
  #report(fields: { err: unknown; agent?: number }, message: string): void {
    const isExpected = fields.err instanceof StoaError && fields.err.code === "unavailable";
    if (!isExpected && !this.#stopping.aborted) this.#log.error(fields, message);
  }

  /** Whether something was written since the last look, or has settled since. Otherwise nothing new would be found. */
  #isChanged(due: DueAgent | undefined): boolean {
    if (due === undefined) return false;
    return due.mark !== this.#looks.get(due.agent_id)?.mark || isSettledBy(due.oldest, this.#board.expiryNow());
  }
}
