import type { HeldKind, HeldMemory } from "./held-memory.ts";

/** A connection, as the budget sees it. */
export interface BudgetedConnection {
  /** The bytes that it holds while no request is running, with the head of a request that has not arrived; else 0. */
  idleBytes(): number;
  /** Ends the connection, which has no running request. */
  endIdle(): void;
}

/** The memory that idle connections may take, in bytes. */
const MAX_BYTES = 48 * 1024 * 1024;
/** When the budget is exceeded, connections end until the others hold at most this fraction of it. */
const RELIEVED = 7 / 8;
/** How often the connections are looked at, in milliseconds. Arriving heads do not pass through JavaScript. */
const CHECK_MS = 250;
/** The connections are also looked at after so many new ones, which may come faster than that. */
const CHECK_CONNECTIONS = 128;

/**
 * Bounds the memory of connections that wait for a request, or for the rest of its head. Clients with many addresses may
 * open thousands, and fill each with a head of 16 KB that never ends.
 */
export class IdleBudget implements HeldKind {
  readonly maxBytes = MAX_BYTES;
  readonly #connections: () => Iterable<BudgetedConnection>;
  readonly #memory: HeldMemory;
  readonly #extraBytes: number;
  readonly #timer: NodeJS.Timeout;
  #counted = 0;
  /** What the connections held when they were last looked at. */
  #held = 0;

  /**
   * @param connections all open connections, the oldest of each protocol first
   * @param memory the budget of everything that clients make the service hold
   * @param extraBytes what each holds in addition to its own figure
   */
  constructor(connections: () => Iterable<BudgetedConnection>, memory: HeldMemory, extraBytes = 0) {
    this.#connections = connections;
    this.#memory = memory;
    this.#extraBytes = extraBytes;
    this.#timer = setInterval(() => this.check(), CHECK_MS).unref();
    memory.add(this);
  }

  get heldBytes(): number {
    return this.#held;
  }

  /** Counts a new connection. */
  count(): void {
    this.#counted += 1;
    if (this.#counted >= CHECK_CONNECTIONS) this.check();
  }

  /** Ends the connections that hold most, the oldest of them first, if all together hold too much. */
  check(): void {
    this.#counted = 0;
    this.#relieve(MAX_BYTES, MAX_BYTES * RELIEVED);
    this.#memory.check();
  }

  shrinkTo(bytes: number): void {
    this.#relieve(bytes, bytes);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** If the connections hold more than `max`, ends some until the others hold at most `target`. */
  #relieve(max: number, target: number): void {
    const holders: { connection: BudgetedConnection; bytes: number }[] = [];
    let held = 0;
    for (const connection of this.#connections()) {
      const own = connection.idleBytes();
      if (own === 0) continue;
      const bytes = own + this.#extraBytes;
      held += bytes;
      holders.push({ connection, bytes });
    }
    this.#held = held;
    if (held <= max) return;
    holders.sort((one, other) => other.bytes - one.bytes);
    for (const { connection, bytes } of holders) {
      connection.endIdle();
      this.#held -= bytes;
      if (this.#held <= target) break;
    }
  }
}
