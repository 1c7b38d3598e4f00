import { Ticker } from "../timing/ticker.ts";
import type { Board } from "./board.ts";

/**
 * How often sweeps run, in milliseconds. Top feeds of a window step over the posts that left it since the last one, so
 * this is short; a sweep that finds nothing costs a few short reads of indexes.
 */
const tickMs = 5_000;

/** Brings up to date what only time changes, in short transactions; any number of replicas may do so at once. */
export type SweepTask = (board: Board, signal: AbortSignal) => Promise<unknown>;

/** Sweeps at once, and then again and again until it is stopped. */
export function startSweep(
  board: Board,
  tasks: readonly SweepTask[],
  log: { warn(fields: object, message: string): void },
): Ticker {
  const sweep = async (signal: AbortSignal) => {
    // What is due waits until writes come back; the reason is told elsewhere.
    if (board.refusal !== undefined) return;
    for (const task of tasks) await task(board, signal);
  };
  return new Ticker(tickMs, sweep, (err) => log.warn({ err }, "a sweep failed"));
}
