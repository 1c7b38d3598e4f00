import { DeadlineWatch } from "./deadline.ts";
import type { Link } from "./link.ts";
import { Pool, type PoolHost, type PoolOptions } from "./pool.ts";
import type { Session } from "./session.ts";
import { StatementKiller } from "./statement-killer.ts";

/** The connections of one purpose. */
export interface PoolPair {
  /** For statements outside of transactions. */
  readonly reads: Pool;
  /** For transactions. */
  readonly writes: Pool;
}

/** One connection in this many is for priority reads, and one for priority transactions; at least one each. */
const connectionsPerPriority = 8;
/** Connections are retired because of their server at most once in this time, in milliseconds: new ones may reach it again. */
const minLeaveIntervalMs = 1_000;

/**
 * The connections of a database. Reads, transactions and priority work have separate pools. So writes that wait for a lock
 * leave connections to reads, slow reads leave some to writes, and both leave some to priority work.
 */
export class Pools implements PoolHost {
  readonly ordinary: PoolPair;
  /** See `Database.priority`. */
  readonly priority: PoolPair;
  readonly watch = new DeadlineWatch();
  readonly #pools: readonly Pool[];
  readonly #killer: StatementKiller;
  readonly #links = new Set<Link>();
  /** Whether the server belongs to a cluster, by the newest connection: the address may lead to another server than before. */
  isCluster = false;
  /** When connections were last retired because of their server, by `performance.now()`. */
  #leftAt = Number.NEGATIVE_INFINITY;

  /** @param options `connections` is the number for all pools together. Each has at least one. */
  constructor(options: Omit<PoolOptions, "autocommit">) {
    const priority = Math.max(1, Math.floor(options.connections / connectionsPerPriority));
    const ordinary = Math.max(1, Math.floor(options.connections / 2) - priority);
    const pair = (connections: number): PoolPair => ({
      reads: new Pool({ ...options, connections, autocommit: true }, this),
      writes: new Pool({ ...options, connections, autocommit: false }, this),
    });
    this.ordinary = pair(ordinary);
    this.priority = pair(priority);
    this.#pools = [this.ordinary, this.priority].flatMap(({ reads, writes }) => [reads, writes]);
    this.#killer = new StatementKiller(options.address);
  }

  /** How many connections work for a call, and how many calls wait for one. */
  get load(): { inUse: number; waiting: number } {
    const sum = { inUse: 0, waiting: 0 };
    for (const { load } of this.#pools) {
      sum.inUse += load.inUse;
      sum.waiting += load.waiting;
    }
    return sum;
  }

  /** Refuses waiting calls, gives running statements a moment, and closes every connection. */
  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
    this.watch.stop();
  }

  opened(link: Link): void {
    this.#links.add(link);
    this.isCluster = link.node.engine !== "single";
  }

  closed(link: Link): void {
    this.#links.delete(link);
  }

  /**
   * Retires all connections to the server of this one, after an error that `isMisplaced`: the same address may now lead to
   * another server.
   */
  leave(link: Link): void {
    const now = performance.now();
    link.isMisplaced = false;
    if (now - this.#leftAt < minLeaveIntervalMs) return;
    this.#leftAt = now;
    for (const each of this.#links) if (each.node.server === link.node.server) each.retire();
  }

  kill(session: Session): Promise<void> {
    return this.#killer.end(session);
  }

  /** Retires the free connections. They are probably dead too, and each would cost a call its time. */
  silent(): void {
    for (const link of this.#links) if (link.user === undefined) link.retire();
  }
}
