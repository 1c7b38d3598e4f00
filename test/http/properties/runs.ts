const factor = process.env.STOA_TEST_RUNS;

/**
 * How many cases a property is tried with. They are the same in each run, so that a run fails for what it changes alone;
 * `STOA_TEST_RUNS=20` tries twenty times as many, and others each time.
 */
export function runs(numRuns: number): { numRuns: number; seed?: number } {
  return factor === undefined ? { numRuns, seed: 20_261_123 } : { numRuns: numRuns * Number(factor) };
}
