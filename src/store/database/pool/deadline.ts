import { StoaError } from "../../../errors.ts";

/**
 * How often the watch looks, in milliseconds. One timer serves all calls: a timer and a listener for each statement would cost
 * more than the rest of its accounting.
 */
const tickMs = 100;

/** A call that waits for something which may never come: a connection, or the answer of a server that hangs. */
export interface Waiting {
  /** Whether it waits now. Between two statements a call checks its deadline itself. */
  readonly isBusy: boolean;
  readonly signal: AbortSignal | undefined;
  /** When its time is over, by `performance.now()`. */
  readonly endsAt: number;
}

/** Finds the calls that have given up or have no time left. */
export class DeadlineWatch {
  readonly #looks: ((now: number) => void)[] = [];
  // Not needed to keep the process alive: the calls do that.
  readonly #timer = setInterval(() => this.#look(), tickMs).unref();

  /** Watches what is in `calls`. @param onOver is called for each call that is over, once it has been removed */
  watch<Call extends Waiting>(calls: Set<Call>, onOver: (call: Call, reason: unknown) => void): void {
    this.#looks.push((now) => {
      for (const call of calls) {
        if (!call.isBusy || !(call.signal?.aborted || call.endsAt <= now)) continue;
        calls.delete(call);
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

/** To be called before each statement. @throws the signal's reason; StoaError `unavailable` when the time is over */
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
