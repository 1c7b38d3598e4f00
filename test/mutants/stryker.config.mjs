// @ts-check
/** @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  plugins: ["@stryker-mutator/vitest-runner"],
  testRunner: "vitest",
  vitest: { configFile: "test/mutants/vitest.config.ts", related: false },
  // A mutant that takes effect when its module is loaded needs a fresh process for every test. These are mostly texts.
  ignoreStatic: true,
  // A run keeps the results of the runs before it, as long as the mutated lines and their tests are the same.
  incremental: true,
  incrementalFile: "node_modules/.cache/mutants-incremental.json",
  coverageAnalysis: "perTest",
  concurrency: 2,
  // On a busy machine, a mutant that only costs time must not look like an endless loop.
  timeoutMS: 30_000,
  timeoutFactor: 4,
  tempDirName: "node_modules/.cache/stryker",
  reporters: ["progress-append-only", "json"],
  jsonReporter: { fileName: "node_modules/.cache/mutants.json" },
  disableTypeChecks: false,
  // Stryker wants to rewrite tsconfig.json with an API that TypeScript 7 does not have. Nothing here needs that.
  tsconfigFile: "none",
  ignorePatterns: ["bench", "docs", ".stoa", "/lib", "/test/faults", "/test/hostile", "/test/http", "/test/site"],
};
