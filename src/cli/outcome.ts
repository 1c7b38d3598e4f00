import { StoaError } from "../client/receipts.ts";
import { findingOf } from "../client/signed-log/finding.ts";
import { exitStatus } from "./command.ts";

/** How a command that checks something has ended. */
export interface Outcome {
  status: number;
  /** Null if nothing is known of what was to be checked. */
  ok: boolean | null;
  /** A code, a colon, and a text for people; null if all is well. */
  reason: string | null;
}

export const good: Outcome = { status: exitStatus.done, ok: true, reason: null };

/**
 * The outcome of a check of a log, by the error that ended it.
 * @param signal interrupts the command
 * @param undone what an interruption means
 * @throws the error, if it is no outcome of a check
 */
export function outcomeOf(error: unknown, signal: AbortSignal, undone = "it was not done"): Outcome {
  const finding = findingOf(error);
  if (finding !== undefined) {
    return { status: exitStatus.found, ok: false, reason: `${finding.fault}: ${finding.message}` };
  }
  if (signal.aborted) return { status: exitStatus.failed, ok: null, reason: `interrupted: ${undone}` };
  if (error instanceof StoaError) {
    return { status: exitStatus.failed, ok: null, reason: `${error.kind}: ${error.message}` };
  }
  throw error;
}
