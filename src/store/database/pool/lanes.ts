import type { LaneName, Session } from "./session.ts";
import { type Waiter, WaitQueue } from "./wait-queue.ts";

/** With fewer connections none is reserved: too few would be left for each lane. */
const minConnections = 4;
/** One connection in this many may run a search: a search may cost the server much memory and time. */
const connectionsPerSearch = 8;
/** How many calls of a lane may wait for a connection. More are refused, so that a slow database does not fill the memory. */
const maxQueueLength = 5_000;
const maxSearchQueueLength = 64;

interface Lane {
  /** How many connections are reserved for this lane. */
  readonly reserved: number;
  /** How many connections this lane may have. */
  readonly max: number;
  readonly maxWaiting: number;
  readonly waiters: WaitQueue;
  inUse: number;
}

/**
 * Divides the connections of a pool among lanes. Each lane has some reserved connections; the rest are shared, first come,
 * first served. So writes that wait for a lock cannot take all connections from reads, and slow reads cannot take all from
 * writes. A burst in one lane still gets nearly all connections while the other lanes are quiet.
 */
export class Lanes {
  readonly #connections: number;
  readonly #lanes: Record<LaneName, Lane>;
  readonly #all: Lane[];
  readonly #reservedTotal: number;
  #inUse = 0;
  #arrivals = 0;

  constructor(connections: number) {
    const share = connections < minConnections ? 0 : Math.floor(connections / 4);
    const lane = (reserved: number, max = connections, maxWaiting = maxQueueLength): Lane => {
      return { reserved, max, maxWaiting, waiters: new WaitQueue(), inUse: 0 };
    };
    this.#connections = connections;
    this.#lanes = {
      reads: lane(share),
      writes: lane(share),
      searches: lane(0, Math.ceil(connections / connectionsPerSearch), maxSearchQueueLength),
      priority: lane(Math.ceil(share / 4)),
    };
    this.#all = Object.values(this.#lanes);
    this.#reservedTotal = this.#all.reduce((sum, { reserved }) => sum + reserved, 0);
  }

  /** How many calls wait. */
  get waiting(): number {
    let sum = 0;
    for (const { waiters } of this.#all) sum += waiters.size;
    return sum;
  }

  /** Whether as many calls of this lane wait as may wait. */
  isQueueFull(name: LaneName): boolean {
    const { waiters, maxWaiting } = this.#lanes[name];
    return waiters.size >= maxWaiting;
  }

  /** Whether a call of this lane may take a connection now. */
  hasRoom(name: LaneName): boolean {
    const lane = this.#lanes[name];
    if (lane.inUse >= lane.max) return false;
    // The first comparison is a shortcut: with so few in use, every lane has room below its maximum.
    return this.#connections - this.#inUse > this.#reservedTotal || this.#room(lane) > 0;
  }

  /** How many waiting calls could go on if there were free sessions. */
  get demand(): number {
    let sum = 0;
    for (const lane of this.#all) if (lane.waiters.size > 0) sum += Math.min(lane.waiters.size, this.#room(lane));
    return sum;
  }

  /** Counts a session as in use by a call of this lane. */
  take(session: Session, name: LaneName): void {
    session.lane = name;
    this.#lanes[name].inUse += 1;
    this.#inUse += 1;
  }

  /** Counts a session as no longer in use. A session that is not in use stays as it is. */
  leave(session: Session): void {
    if (session.lane === undefined) return;
    this.#lanes[session.lane].inUse -= 1;
    this.#inUse -= 1;
    session.lane = undefined;
  }

  /** Waits for a session. @throws the signal's reason when it aborts first; the error that the pool rejects the waiter with */
  wait(name: LaneName, autocommit: boolean, signal: AbortSignal, endsAt: number): Promise<Session> {
    this.#arrivals += 1;
    return this.#lanes[name].waiters.add({ lane: name, autocommit, arrival: this.#arrivals, signal, endsAt });
  }

  /** Removes and returns the call that has waited longest, among the lanes that have room. */
  removeNext(): Waiter | undefined {
    let next: Lane | undefined;
    for (const lane of this.#all) {
      const { first } = lane.waiters;
      if (first === undefined || first.arrival > (next?.waiters.first?.arrival ?? Number.POSITIVE_INFINITY)) continue;
      if (this.#room(lane) > 0) next = lane;
    }
    return next?.waiters.removeFirst();
  }

  /** Removes and returns all calls whose time is over at `now`. */
  removeLate(now: number): Waiter[] {
    return this.#all.flatMap(({ waiters }) => waiters.removeLate(now));
  }

  /** How many more connections a lane may take: up to its maximum, and not those that are reserved for other lanes. */
  #room(lane: Lane): number {
    let room = this.#connections - this.#inUse;
    for (const other of this.#all) {
      if (other !== lane && other.inUse < other.reserved) room -= other.reserved - other.inUse;
    }
    return Math.min(room, lane.max - lane.inUse);
  }
}
