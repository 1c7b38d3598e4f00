import { Ticker } from "../timing/ticker.ts";
import type { Board } from "./board.ts";

/**
 * How often sweeps run, in milliseconds. It is short because top feeds must skip the posts that left their window since the
 * last sweep. A sweep that finds nothing costs a few short reads of indexes.
 */
const tickMs = 5_000;

/** Updates what changes with time alone, in short transactions. Any number of replicas may run it at once. */
export type SweepTask = (board: Board, signal: AbortSignal) => Promise<unknown>;

/** Starts sweeps: one now, and then one every few seconds until it is stopped. The first failure of each is logged. */
export function startSweep(
  board: Board,
  tasks: readonly SweepTask[],
  log: { warn(fields: object, message: string): void },
): Ticker {
  const sweep = async (signal: AbortSignal) => {
    // While writes are refused, sweeps wait. Others report the reason.
    if (board.refusal !== undefined) return;
    const failures: unknown[] = [];
    for (const task of tasks) {
      // One that fails must not hold up the others.
      await task(board, signal).catch((error) => failures.push(error));
      signal.throwIfAborted();
    }
    if (failures.length > 0) throw failures[0];
  };
  return new Ticker(tickMs, sweep, (err) => log.warn({ err }, "a sweep failed"));
}
