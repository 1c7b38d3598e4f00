import type { LaneName, Session } from "./session.ts";
import { type Waiter, WaitQueue } from "./wait-queue.ts";

/** With fewer connections nothing is kept: too little would be left for either. */
const leastConnections = 4;

interface Lane {
  /** How many connections are kept for it, whatever the others need. */
  readonly kept: number;
  readonly waiters: WaitQueue;
  inUse: number;
}

/**
 * Divides the connections of a pool. Each lane has some of its own, which no other takes, and the rest are for whoever comes
 * first: writes that wait for a lock cannot take all connections from reads, nor the other way round, and a burst of either
 * uses nearly all of them while the other is quiet.
 */
export class Lanes {
  readonly #connections: number;
  readonly #lanes: Record<LaneName, Lane>;
  readonly #all: Lane[];
  readonly #keptInAll: number;
  #inUse = 0;
  #arrivals = 0;

  constructor(connections: number) {
    const share = connections < leastConnections ? 0 : Math.floor(connections / 4);
    const lane = (kept: number): Lane => ({ kept, waiters: new WaitQueue(), inUse: 0 });
    this.#connections = connections;
    this.#lanes = { reads: lane(share), writes: lane(share), vital: lane(Math.ceil(share / 4)) };
    this.#all = Object.values(this.#lanes);
    this.#keptInAll = this.#all.reduce((sum, { kept }) => sum + kept, 0);
  }

  /** How many calls wait. */
  get waiting(): number {
    let sum = 0;
    for (const { waiters } of this.#all) sum += waiters.size;
    return sum;
  }

  waitingIn(name: LaneName): number {
    return this.#lanes[name].waiters.size;
  }

  /** Whether a call of this lane may take a connection now. */
  hasRoom(name: LaneName): boolean {
    // With so few in use there is room for everybody.
    return this.#connections - this.#inUse > this.#keptInAll || this.#room(this.#lanes[name]) > 0;
  }

  /** How many of the calls that wait could go on if there were free sessions. */
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

  /** The session is in use no more; one that is not in use stays as it is. */
  leave(session: Session): void {
    if (session.lane === undefined) return;
    this.#lanes[session.lane].inUse -= 1;
    this.#inUse -= 1;
    session.lane = undefined;
  }

  /** Waits for a session. @throws the signal's reason when it aborts first; what the waiter is rejected with */
  wait(name: LaneName, signal: AbortSignal, endsAt: number): Promise<Session> {
    this.#arrivals += 1;
    return this.#lanes[name].waiters.add({ lane: name, arrival: this.#arrivals, signal, endsAt });
  }

  /** Takes out the call that has waited longest of those that may have a session now. */
  removeNext(): Waiter | undefined {
    let next: Lane | undefined;
    for (const lane of this.#all) {
      const { first } = lane.waiters;
      if (first === undefined || first.arrival > (next?.waiters.first?.arrival ?? Number.POSITIVE_INFINITY)) continue;
      if (this.#room(lane) > 0) next = lane;
    }
    return next?.waiters.removeFirst();
  }

  /** Takes out all calls whose time is over at `now`. */
  removeLate(now: number): Waiter[] {
    return this.#all.flatMap(({ waiters }) => waiters.removeLate(now));
  }

  /** How many connections a lane may take besides those that it has: not those which are kept for others. */
  #room(lane: Lane): number {
    let room = this.#connections - this.#inUse;
    for (const other of this.#all) if (other !== lane && other.inUse < other.kept) room -= other.kept - other.inUse;
    return room;
  }
}
