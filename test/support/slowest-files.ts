import type { Reporter, TestModule, Vitest } from "vitest/node";

/** How many files are printed. A run of fewer files prints none: the usual report has their times. */
const printed = 10;

/** Prints the seed of the order of the files, and the slowest of them. */
export default class SlowestFiles implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#vitest === undefined || modules.length <= printed) return;
    const slowest = modules
      .map((module) => ({ name: module.relativeModuleId, ms: timeOf(module) }))
      .sort((a, b) => b.ms - a.ms)
      .slice(0, printed);
    const { seed } = this.#vitest.config.sequence;
    this.#vitest.logger.log(`\nThe seed of the order is ${seed}: npm test -- --sequence.seed=${seed} repeats it.`);
    this.#vitest.logger.log("The slowest files:");
    for (const { name, ms } of slowest) this.#vitest.logger.log(`${(ms / 1000).toFixed(1).padStart(6)} s  ${name}`);
  }
}

/** From the first import to the last test of a file, in milliseconds. */
function timeOf(module: TestModule): number {
  const { collectDuration, duration } = module.diagnostic();
  return collectDuration + duration;
}
