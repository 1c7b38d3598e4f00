import { configDefaults, defineConfig } from "vitest/config";

/** Attacks fill the machine: `npm run hostile` runs them one at a time. */
const attacks = "test/hostile/**";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(process.env.STOA_TEST_ATTACKS === "1" ? [] : [attacks])],
    globalSetup: ["test/support/run-environment.ts", "test/support/database-server.ts"],
    setupFiles: ["test/support/end-file.ts", "test/support/openapi/check-replies.ts"],
    // The files that a worker runs share their imports, which take a fifth of the processor time otherwise.
    isolate: false,
    // Patience alone: no test measures by them. A busy machine needs several times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 50_000 } },
    // Two more than the two cores that CI has: some tests wait, for time-outs and for processes to start. Three left both cores
    // idle for a tenth of the time, and took a seventh longer.
    maxWorkers: 4,
    // Immediates stay real: what takes turns of the event loop must go on while a test holds the clock.
    fakeTimers: { toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] },
    // In another order each time: no file may need what one before it has left. No file is so slow that one at the end matters.
    sequence: { shuffle: { files: true, tests: false } },
    reporters: ["./test/support/slowest-files.ts", "default"],
  },
});
