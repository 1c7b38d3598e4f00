import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** The tests of the pure rooms. `npm run mutants` runs them against each mutant, without a database. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: [
      "test/receipt/**/*.test.ts",
      "test/rate-limits/{gcra,local-limit,rate-limiter,quota,recent-map,pace}.test.ts",
      "test/transcoding/**/*.test.ts",
      "test/contract/**/*.test.ts",
      "test/idempotency/fingerprint.test.ts",
      "test/board/cursors.test.ts",
    ],
    // It compares FORMAT.md with the text of the source, which Stryker changes.
    exclude: ["test/receipt/format.test.ts"],
    setupFiles: ["test/mutants/setup.ts"],
    testTimeout: 60_000,
  },
});
