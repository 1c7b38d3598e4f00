import { StoaError } from "../../../errors.ts";

/** To be called before each statement. @throws the signal's reason; StoaError `unavailable` when the time is over */
export function checkDeadline(signal: AbortSignal, endsAt: number): void {
  signal.throwIfAborted();
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
