import { crc32 } from "node:zlib";

const factor = process.env.STOA_TEST_RUNS;

/**
 * How many cases a property is tried with. They are the same in each run, so that a run fails for what it changes alone;
 * `STOA_TEST_RUNS=20` tries twenty times as many, and others each time.
 * @param name of what is tried. Under other names the cases are others, so that a few for each are many for what all share.
 */
export function runs(name: string, numRuns: number): { numRuns: number; seed?: number } {
  return factor === undefined ? { numRuns, seed: crc32(name) | 0 } : { numRuns: numRuns * Number(factor) };
}
