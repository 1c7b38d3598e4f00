import { StoaError } from "../../../errors.ts";

/**
 * How often the watch looks, in milliseconds. One timer serves all calls: a timer and a listener for each statement would cost
 * more than all else that the pool does for it.
 */
const tickMs = 100;

/** A call that waits for something which may never come: a connection, or the answer of a server that hangs. */
export interface Waiting {
  /** Whether it waits now. Otherwise it is between two statements, and calls `checkDeadline` before the next. */
  readonly isBusy: boolean;
  readonly signal: AbortSignal | undefined;
  /** When its time is over, by `performance.now()`. */
  readonly endsAt: number;
}

/** Ends the calls whose callers have given up, and those that have no time left. */
export class DeadlineWatch {
  readonly #looks: ((now: number) => void)[] = [];
  // Not needed to keep the process alive: the calls do that.
  readonly #timer = setInterval(() => this.#look(), tickMs).unref();

  /** Calls `onOver` with each waiting call that is over. That must remove it from `calls`. */
  watch<Call extends Waiting>(calls: Iterable<Call>, onOver: (call: Call, reason: unknown) => void): void {
    this.#looks.push((now) => {
      for (const call of calls) {
        if (!call.isBusy || !(call.signal?.aborted || call.endsAt <= now)) continue;
        onOver(call, call.signal?.aborted ? call.signal.reason : deadlineExceeded());
      }
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    for (const look of this.#looks) look(now);
  }
}

/** Call this before each statement. @throws the signal's reason; StoaError `unavailable` when the time is over */
export function checkDeadline(signal: AbortSignal | undefined, endsAt: number): void {
  signal?.throwIfAborted();
  if (performance.now() >= endsAt) throw deadlineExceeded();
}

/** The error of a call whose time is over. */
export function deadlineExceeded(): StoaError {
  return unavailable("The database did not answer in time.");
}

/** The error of a call that may be repeated in a second. */
export function unavailable(message: string): StoaError {
  return new StoaError("unavailable", message, { retryAfterSeconds: 1 });
}
