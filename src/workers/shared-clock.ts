/** A moment by two clocks, in milliseconds: the time that the processes agree on, and the monotonic clock, which nobody sets. */
export interface ClockOrigin {
  time: number;
  monotonic: number;
}

/** All processes of a machine have the same monotonic clock. */
function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** @param time in milliseconds since 1970 (UTC) */
export function clockOrigin(time: number): ClockOrigin {
  return { time, monotonic: monotonicMs() };
}

/** A clock that shows the same time in all processes with this origin, in whole milliseconds since 1970 (UTC). */
export function clockSince({ time, monotonic }: ClockOrigin): () => number {
  return () => Math.round(time + monotonicMs() - monotonic);
}
