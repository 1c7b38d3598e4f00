// @ts-check
/** @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  plugins: ["@stryker-mutator/vitest-runner"],
  testRunner: "vitest",
  vitest: { configFile: "test/mutants/vitest.config.ts", related: false },
  mutate: [
    "src/receipt/**/*.ts",
    "src/rate-limits/*.ts",
    "src/transcoding/*.ts",
    "src/contract/*.ts",
    "src/idempotency/fingerprint.ts",
    "src/board/cursors.ts",
    // Nothing but words and numbers. test/docs and test/config compare them with what is promised.
    "!src/contract/error-texts.ts",
    "!src/rate-limits/stream-limits.ts",
  ],
  // A mutant that takes effect when its module is loaded needs a fresh process for every test. These are mostly texts.
  ignoreStatic: true,
  coverageAnalysis: "perTest",
  concurrency: 2,
  timeoutMS: 10_000,
  tempDirName: "node_modules/.cache/stryker",
  reporters: ["progress-append-only", "json"],
  jsonReporter: { fileName: "node_modules/.cache/mutants.json" },
  disableTypeChecks: false,
  // Stryker wants to rewrite tsconfig.json with an API that TypeScript 7 does not have. Nothing here needs that.
  tsconfigFile: "none",
  ignorePatterns: ["bench", "docs", ".stoa", "lib", "/test/faults", "/test/hostile", "/test/http", "/test/site"],
};
