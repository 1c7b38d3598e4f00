import type { Options } from "./options.ts";

/** A run of the bench. */
export interface Run {
  /** When it began, in milliseconds since 1970 (UTC). */
  started: number;
  options: Options;
  log(line: string): void;
  /** Aborts when the run is interrupted. */
  signal: AbortSignal;
  /** Ends what the run has begun, the last first. */
  cleanUp: AsyncDisposableStack;
}
