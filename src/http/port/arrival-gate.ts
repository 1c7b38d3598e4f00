import type { TurnScheduler } from "../../timing/turn-scheduler.ts";

/** A session whose socket is read only while the gate is open. */
export interface GatedSession {
  stopReading(): void;
  startReading(): void;
}

/** How many streams may arrive in one turn of the event loop, over all sessions. */
const MAX_ARRIVALS_A_TURN = 256;
/** A new session takes as long as so many streams. */
const SESSION_ARRIVALS = 4;
/** How many requests and ends of streams may wait for their turn, over all sessions. */
const MAX_WAITING = 1024;

/**
 * Bounds the HTTP/2 requests that arrive at once. One read can bring all streams that a session may have. So a client with
 * hundreds of sessions would make tens of thousands of streams in one turn of the event loop, each with objects of its own.
 * The service also ends streams in turns, and could not end them as fast as clients make them. While the gate is closed, no session begins and none is read, and clients wait as on a slow network.
 */
export class ArrivalGate {
  /** The sessions that have waited for the longest time come first. */
  readonly #sessions = new Set<GatedSession>();
  /** The sessions from which streams have arrived since the gate was last closed. */
  readonly #served = new Set<GatedSession>();
  /** What begins the sessions that have arrived while the gate was closed. */
  readonly #entering: (() => void)[] = [];
  /** Whether new sessions come first when the gate opens; they and the others take turns. */
  #entersFirst = false;
  #arrived = 0;
  #waiting = 0;
  #isClosed = false;
  #isTurnCounted = false;
  readonly #endTurns: Pick<TurnScheduler, "waiting">;

  /** @param endTurns says how many streams wait for their end */
  constructor(endTurns: Pick<TurnScheduler, "waiting">) {
    this.#endTurns = endTurns;
  }

  /** Calls `begin`, which begins a session, now or when the gate is open. */
  enter(begin: () => void): void {
    if (this.#isClosed || this.#entering.length > 0) this.#entering.push(begin);
    else this.#begin(begin);
  }

  add(session: GatedSession): void {
    this.#sessions.add(session);
    if (this.#isClosed) session.stopReading();
  }

  remove(session: GatedSession): void {
    this.#sessions.delete(session);
    this.#served.delete(session);
  }

  /** Counts a stream that a session has read. */
  arrive(session: GatedSession): void {
    this.#count(1);
    if (this.#sessions.has(session)) this.#served.add(session);
    // Node reads again by itself after a write.
    if (this.#isClosed) session.stopReading();
    else this.#closeIfFull();
  }

  /** Counts requests that begin to wait for their turn; negative for those that wait no longer. */
  wait(requests: number): void {
    this.#waiting += requests;
    this.#closeIfFull();
  }

  #begin(begin: () => void): void {
    this.#count(SESSION_ARRIVALS);
    this.#closeIfFull();
    begin();
  }

  #count(arrivals: number): void {
    this.#arrived += arrivals;
    // Light work schedules nothing: streams are counted over several turns until there are many.
    if (this.#arrived * 2 >= MAX_ARRIVALS_A_TURN) this.#countTurn();
  }

  #closeIfFull(): void {
    if (this.#isClosed || this.#isBelow(1)) return;
    this.#isClosed = true;
    this.#countTurn();
    for (const session of this.#served) {
      this.#sessions.delete(session);
      this.#sessions.add(session);
    }
    this.#served.clear();
    for (const session of this.#sessions) session.stopReading();
  }

  /** Whether less has arrived and waits than this share of what may. */
  #isBelow(share: number): boolean {
    const waiting = this.#waiting + this.#endTurns.waiting;
    return this.#arrived < MAX_ARRIVALS_A_TURN * share && waiting < MAX_WAITING * share;
  }

  #open(): void {
    this.#isClosed = false;
    for (const session of this.#sessions) session.startReading();
    this.#entersFirst = !this.#entersFirst;
    if (this.#entersFirst) this.#beginEntered();
    else setImmediate(() => this.#beginEntered());
  }

  #beginEntered(): void {
    if (this.#isClosed) return;
    const begin = this.#entering.shift();
    if (begin === undefined) return;
    this.#begin(begin);
    // In its first tick, Node's session reads the bytes that have arrived, and the gate may close again.
    process.nextTick(() => this.#beginEntered());
  }

  #countTurn(): void {
    if (this.#isTurnCounted) return;
    this.#isTurnCounted = true;
    setImmediate(() => {
      this.#isTurnCounted = false;
      this.#arrived = 0;
      if (!this.#isClosed) return;
      if (this.#isBelow(1 / 2)) this.#open();
      else this.#countTurn();
    });
  }
}
