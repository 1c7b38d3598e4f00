/**
 * The minimum CPU time of a call on this thread in several runs, in milliseconds. Other processes can only make a run
 * longer, and little.
 */
export function cpuMs(call: () => unknown, runs: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) {
    const began = process.threadCpuUsage();
    call();
    const { user, system } = process.threadCpuUsage(began);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
