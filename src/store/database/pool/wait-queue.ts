import type { LaneName, Session } from "./session.ts";

/** A call, as the queue needs to know it. */
export interface Call {
  readonly lane: LaneName;
  /** Whether each of its statements is a transaction of its own. */
  readonly autocommit: boolean;
  /** Higher for later calls. */
  readonly arrival: number;
  readonly signal: AbortSignal;
  /** When it stops waiting, by `performance.now()`. */
  readonly endsAt: number;
}

/** A waiting call: an element of a doubly linked list. */
export interface Waiter extends Call {
  readonly resolve: (session: Session) => void;
  readonly reject: (reason: unknown) => void;
  readonly leave: () => void;
  previous: Waiter | undefined;
  next: Waiter | undefined;
}

/** Calls that wait for a session, first come, first served. A call that is aborted leaves the queue at once. */
export class WaitQueue {
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The call that has waited longest. */
  get first(): Waiter | undefined {
    return this.#first;
  }

  /** Waits for a session. @throws the signal's reason when it aborts first; the error that the pool rejects the waiter with */
  add({ lane, autocommit, arrival, signal, endsAt }: Call): Promise<Session> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#remove(waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        lane,
        autocommit,
        arrival,
        signal,
        endsAt,
        resolve,
        reject,
        leave,
        previous: this.#last,
        next: undefined,
      };
      if (this.#last === undefined) this.#first = waiter;
      else this.#last.next = waiter;
      this.#last = waiter;
      this.#size += 1;
      signal.addEventListener("abort", leave);
    });
  }

  /** Removes and returns the call that has waited longest. */
  removeFirst(): Waiter | undefined {
    const waiter = this.#first;
    if (waiter !== undefined) this.#remove(waiter);
    return waiter;
  }

  /** Removes and returns all calls whose time is over at `now`. */
  removeLate(now: number): Waiter[] {
    const late: Waiter[] = [];
    for (let waiter = this.#first; waiter !== undefined; waiter = waiter.next)
      if (waiter.endsAt <= now) late.push(waiter);
    for (const waiter of late) this.#remove(waiter);
    return late;
  }

  #remove(waiter: Waiter): void {
    const { previous, next, signal, leave } = waiter;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    this.#size -= 1;
    signal.removeEventListener("abort", leave);
  }
}
