import { vi } from "vitest";

/** A timer that a test may run before its time. */
export interface EarlyTimer {
  ms: number;
  run(): void;
}

/**
 * Collects the timers that are set while `during` goes on, so that a test does not wait for them. They run at their time as well,
 * unless they are cleared. Not for tests that run concurrently.
 */
export async function collectTimers(during: () => unknown): Promise<EarlyTimer[]> {
  const timers: EarlyTimer[] = [];
  const setReal = globalThis.setTimeout;
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms = 0, ...rest: []) => {
    timers.push({ ms, run });
    return setReal(run, ms, ...rest);
  }) as typeof setTimeout);
  try {
    await during();
  } finally {
    spy.mockRestore();
  }
  return timers;
}
